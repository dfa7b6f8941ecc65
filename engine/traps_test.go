package engine_test

import (
	"strings"
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
	require.Equal(t, "ERR value is not an integer or out of range",
		eval(s, "server.call('set', 'k', 'x') return server.pcall('incr', 'k').err"))
	require.Equal(t, "MY error", eval(s, "return server.error_reply('MY error')"))
	require.Equal(t, "FINE", eval(s, "return server.status_reply('FINE')"))
}

// TestErrorReplyPrefix checks texts of error replies that Redis 6 sent without a prefix,
// and that clients compare.
func TestErrorReplyPrefix(t *testing.T) {
	texts := []struct {
		text string
		bare bool // by auto
	}{
		{"UNKNOWN_CLIENT", true},
		{"OVERWEIGHT:3:2", true},
		{"OVERWEIGHT:3.5:-2", true},
		{"OVERWEIGHT::", true},
		{"OVERWEIGHT:nil", true},
		{"CODE-with-more", true},
		{"CODE.", true},
		{"E", true},
		{"E2_:x", true},
		{"CODE:\u00fc", true},
		{"OVERWEIGHT :3:2", false},
		{"OVERWEIGHT: 3:2", false},
		{"OVERWEIGHT:3\t2", false},
		{"OVERWEIGHT:3\r2", false},
		{"OVERWEIGHT:3\x7f2", false},
		{"Overweight:3:2", false},
		{"OVERWEIGHTs:3:2", false},
		{"OVERWEIGHT\u00fc", false},
		{"overweight:3:2", false},
		{":OVERWEIGHT:3:2", false},
		{"2FAST", false},
		{"_CODE", false},
		{"", false},
	}
	for _, mode := range []string{"auto", "always", "never"} {
		e, _ := newEngine(t, "--lua-error-reply-prefix", mode)
		s := newSession(t, e)
		for _, c := range texts {
			want := c.text
			if mode == "always" || mode == "auto" && !c.bare {
				want = "ERR " + want
				if strings.Contains(c.text, " ") {
					want = c.text
				}
			}
			for form, script := range map[string]string{
				"plain":       "return redis.error_reply(ARGV[1])",
				"interpreted": "local f = function(t) return redis.error_reply(t) end return f(ARGV[1])",
				"as a field":  "return {err = redis.error_reply(ARGV[1]).err}",
			} {
				got := show(s.Do([][]byte{[]byte("EVAL"), []byte(script), []byte("0"), []byte(c.text)}))
				require.Equal(t, want, got, "%s, %s: %q", mode, form, c.text)
			}
		}
		require.Equal(t, "ERR two words", eval(s, "return redis.error_reply('ERR two words')"), mode)
	}
	e, _ := newEngine(t)
	s := newSession(t, e)
	require.Equal(t, "UNKNOWN_CLIENT", eval(s, "return redis.error_reply('UNKNOWN_CLIENT')"),
		"auto is the default")
	require.Equal(t, "OK", do(s, "CONFIG SET lua-error-reply-prefix always"))
	require.Equal(t, "ERR UNKNOWN_CLIENT", eval(s, "return redis.error_reply('UNKNOWN_CLIENT')"))
}
