package zlimit_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
)

var rewrite = flag.Bool("rewrite", false, "write the README's command table anew")

const (
	tableBegin = "<!-- commands -->\n"
	tableEnd   = "<!-- /commands -->\n"
)

// TestReadmeCommandTable holds the README's table against the command table.
func TestReadmeCommandTable(t *testing.T) {
	still := func() int64 { return 0 }
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{Monotonic: still, Wall: still})})
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok)
	want := before + tableBegin + commands.Markdown(e.Table()) + tableEnd + after
	if *rewrite {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
		return
	}
	// Not Equal: a diff of the whole page would bury what is wrong.
	require.True(t, want == string(text), "the table is old: run go test . -run Readme -rewrite")
}
