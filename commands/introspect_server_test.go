package commands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
)

// TestServerTable checks the server's table, with the groups of scripting and engine,
// like this package's own rows.
func TestServerTable(t *testing.T) {
	still := func() int64 { return 1 }
	table := engine.New(engine.Options{Clock: clock.New(clock.Sources{
		Monotonic: still,
		Wall:      still,
	})}).Table()
	t.Run("sane", func(t *testing.T) { commands.CheckRows(t, table) })
	t.Run("names", func(t *testing.T) { commands.CompareNames(t, table) })
	t.Run("transcript", func(t *testing.T) { commands.CompareTranscript(t, table) })
	t.Run("info", func(t *testing.T) { require.Greater(t, commands.CompareInfo(t, table), 150) })
	t.Run("docs", func(t *testing.T) { require.Greater(t, commands.CompareDocs(t, table), 150) })
}
