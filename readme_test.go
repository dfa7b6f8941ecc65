package zlimit_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/introspection"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/info"
	"github.com/zlimit/zlimit/upstream"
)

var rewrite = flag.Bool("rewrite", false, "write the generated tables of pages anew")

const (
	tableBegin = "<!-- table -->\n"
	tableEnd   = "<!-- /table -->\n"
)

// TestGeneratedTables compares the tables of pages with those of the code.
func TestGeneratedTables(t *testing.T) {
	still := func() int64 { return 0 }
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{Monotonic: still, Wall: still})})
	absent, unused := introspection.AbsentMarkdown(e.Table(), redisCommands(t))
	require.Empty(t, unused, "rows of commands/introspection/absent.go that no command needs any more")
	for page, table := range map[string]string{
		"docs/absent.md":           absent,
		"docs/commands.md":         introspection.Markdown(e.Table()),
		"docs/directives.md":       config.Markdown(),
		"docs/gateway-commands.md": upstream.Markdown(e.Table()),
		"docs/info.md":             info.Markdown(),
		"docs/metrics.md":          info.MetricsMarkdown(),
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
		// Not Equal: it would print a diff of the whole page.
		require.True(t, want == string(text), "%s is old: run go test . -run Tables -rewrite", page)
	}
}

// redisCommands returns the recorded commands of Redis.
func redisCommands(t *testing.T) (out []introspection.RedisCommand) {
	text, err := os.ReadFile("commands/introspection/testdata/commands.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if name, group, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			out = append(out, introspection.RedisCommand{Name: name, Group: group})
		}
	}
	require.Greater(t, len(out), 300)
	return out
}

// A command that is removed from the table must appear in the list.
func TestAbsentCommandsAreListed(t *testing.T) {
	redis := redisCommands(t)
	full, _ := introspection.AbsentMarkdown(commands.NewTable(commands.Strings), redis)
	require.Contains(t, full, "`LPUSH`")
	require.NotContains(t, full, "`APPEND`")
	none, unused := introspection.AbsentMarkdown(commands.NewTable(commands.Strings), redis[:0])
	require.NotContains(t, none, "`")
	require.NotEmpty(t, unused)
}

// TestFrontDoorIsShort checks that the first pages stay short, in lines and in words of our own.
func TestFrontDoorIsShort(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 250, "lines of README.md")
	architecture, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	_, glossary, ok := strings.Cut(string(architecture), "\n| Word | Meaning |\n|---|---|\n")
	require.True(t, ok)
	words := 0
	for row := range strings.Lines(glossary) {
		terms, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		words += 1 + strings.Count(terms, ", ")
	}
	require.Greater(t, words, 20)
	require.LessOrEqual(t, words, 30, "words of the glossary")
}

// TestSince checks that no command of zlimit is of a version that is still to come.
func TestSince(t *testing.T) {
	still := func() int64 { return 0 }
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{Monotonic: still, Wall: still})})
	own := 0
	e.Table().Each(func(c *commands.Command) {
		if strings.HasPrefix(c.Since, "0.") {
			require.LessOrEqual(t, c.Since, engine.Version, c.FullName())
			own++
		}
	})
	require.Greater(t, own, 15)
}
