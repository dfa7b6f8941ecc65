package commands_test

import (
	"testing"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
)

// TestServerTable checks the server's table, with the groups of scripting and engine,
// like this package's own rows.
func TestServerTable(t *testing.T) {
	still := func() int64 { return 1 }
	commands.CheckRows(t, engine.New(engine.Options{Clock: clock.New(clock.Sources{
		Monotonic: still,
		Wall:      still,
	})}).Table())
}
