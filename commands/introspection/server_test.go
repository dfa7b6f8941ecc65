package introspection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands/introspection"
	"github.com/zlimit/zlimit/engine"
)

// TestServerTable checks the server's table, with the groups of scripting and engine,
// like the rows of package commands.
func TestServerTable(t *testing.T) {
	still := func() int64 { return 1 }
	table := engine.New(engine.Options{Clock: clock.New(clock.Sources{
		Monotonic: still,
		Wall:      still,
	})}).Table()
	t.Run("syntax", func(t *testing.T) { introspection.CheckSyntax(t, table) })
	t.Run("names", func(t *testing.T) { introspection.CompareNames(t, table) })
	t.Run("transcript", func(t *testing.T) { introspection.CompareTranscript(t, table) })
	t.Run("info", func(t *testing.T) { require.Greater(t, introspection.CompareInfo(t, table), 150) })
	t.Run("docs", func(t *testing.T) { require.Greater(t, introspection.CompareDocs(t, table), 150) })
}
