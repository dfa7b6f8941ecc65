package zlimit_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
)

var rewrite = flag.Bool("rewrite", false, "write the generated tables of pages anew")

const (
	tableBegin = "<!-- table -->\n"
	tableEnd   = "<!-- /table -->\n"
)

// TestGeneratedTables holds the tables of pages against those of the code.
func TestGeneratedTables(t *testing.T) {
	still := func() int64 { return 0 }
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{Monotonic: still, Wall: still})})
	for page, table := range map[string]string{
		"docs/commands.md":   commands.Markdown(e.Table()),
		"docs/directives.md": config.Markdown(),
		"docs/info.md":       engine.InfoMarkdown(),
	} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		before, rest, ok := strings.Cut(string(text), tableBegin)
		require.True(t, ok, page)
		_, after, ok := strings.Cut(rest, tableEnd)
		require.True(t, ok, page)
		want := before + tableBegin + table + tableEnd + after
		if *rewrite {
			require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
			continue
		}
		// Not Equal: a diff of the whole page would bury what is wrong.
		require.True(t, want == string(text), "%s is old: run go test . -run Tables -rewrite", page)
	}
}
