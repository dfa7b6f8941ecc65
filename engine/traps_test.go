package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// The traps for limiters in which zlimit means to differ from Redis 7.0. The
// others are transcripts: server/testdata/transcripts/traps.cases.

func eval(s *engine.Session, script string) string {
	return show(s.Do([][]byte{[]byte("EVAL"), []byte(script), []byte("0")}))
}

// TestScriptsOfValkey call server, which Redis 7.0 does not have.
func TestScriptsOfValkey(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	require.Equal(t, "OK", eval(s, "return server.call('set', 'k', 1)"))
	require.Equal(t, "2", eval(s, "return server.call('incr', 'k')"))
	require.Equal(t, "2", eval(s, "return redis.call('get', 'k')"))
	require.Equal(t, "ERR value is not an integer or out of range", eval(s, "server.call('set', 'k', 'x') return server.pcall('incr', 'k').err"))
	require.Equal(t, "MY error", eval(s, "return server.error_reply('MY error')"))
	require.Equal(t, "FINE", eval(s, "return server.status_reply('FINE')"))
}

// TestErrorReplyPrefix: a scheduler compares the text of an error reply that
// Redis 6 sent bare.
func TestErrorReplyPrefix(t *testing.T) {
	for _, c := range []struct{ mode, word, words string }{
		{"auto", "UNKNOWN_CLIENT", "ERR two words"},
		{"always", "ERR UNKNOWN_CLIENT", "ERR two words"},
		{"never", "UNKNOWN_CLIENT", "ERR two words"},
	} {
		e, _ := newEngine(t, "--lua-error-reply-prefix", c.mode)
		s := newSession(t, e)
		require.Equal(t, c.word, eval(s, "return redis.error_reply('UNKNOWN_CLIENT')"), c.mode)
		require.Equal(t, c.words, eval(s, "return redis.error_reply('ERR two words')"), c.mode)
	}
	e, _ := newEngine(t)
	s := newSession(t, e)
	require.Equal(t, "UNKNOWN_CLIENT", eval(s, "return redis.error_reply('UNKNOWN_CLIENT')"), "auto is the default")
	require.Equal(t, "OK", do(s, "CONFIG SET lua-error-reply-prefix always"))
	require.Equal(t, "ERR UNKNOWN_CLIENT", eval(s, "return redis.error_reply('UNKNOWN_CLIENT')"))
}
