package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwapDBWithinAScript checks that commands after SWAPDB use the database that has the
// number now, as in Redis, and that the log records that database.
func TestSwapDBWithinAScript(t *testing.T) {
	const load = "FUNCTION LOAD \"#!lua name=swap\\nredis.register_function('swap', " +
		"function() redis.call('SWAPDB', 0, 2); redis.call('INCRBY', 's', 6) end)\""
	for _, c := range []struct{ name, line string }{
		{"EVAL", "EVAL \"redis.call('SWAPDB', 0, 2); redis.call('INCRBY', 's', 6)\" 0"},
		{"pcall", "EVAL \"redis.pcall('SWAPDB', 2, 0); redis.pcall('INCRBY', 's', 6)\" 0"},
		{"twice", "EVAL \"redis.call('SWAPDB', 0, 1); redis.call('SWAPDB', 2, 0); redis.call('INCRBY', " +
			"'s', 6)\" 0"},
		{"FCALL", "FCALL swap 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, h, log := newRecording(t)
			s := newSession(t, e)
			s.Do(wordsOf(t, load))
			do(s, "SET s 10")
			do(s, "SELECT 2")
			do(s, "SET s 20")
			do(s, "SELECT 0")
			s.Do(wordsOf(t, c.line))
			require.Equal(t, "26", do(s, "GET s"))

			w := &effectsWorld{Engine: e, hands: h}
			text := log.take()
			require.Equal(t, contents(newSession(t, e)), contents(w.reload(t, logged(t, text))),
				strings.Join(logLines(t, text), "; "))
		})
	}
}
