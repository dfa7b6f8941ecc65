package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// TestConfigSetReachesWhatIsCached sets directives of which the engine keeps copies, and
// checks their effect.
func TestConfigSetReachesWhatIsCached(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for _, tc := range []struct {
		set     string
		observe func(e *engine.Engine, s *engine.Session) string
		before  string
		after   string
	}{
		{"rdbcompression no", func(_ *engine.Engine, s *engine.Session) string {
			do(s, "SET k "+long)
			if reply := s.Do(args("DUMP k")); len(reply.Str()) < len(long) {
				return "compressed"
			}
			return "whole"
		}, "compressed", "whole"},
		{"hash-max-listpack-entries 1", func(_ *engine.Engine, s *engine.Session) string {
			do(s, "HSET h a 1 b 2")
			return do(s, "OBJECT ENCODING h")
		}, "listpack", "hashtable"},
		{"hash-max-listpack-value 1", func(_ *engine.Engine, s *engine.Session) string {
			do(s, "HSET h a 12")
			return do(s, "OBJECT ENCODING h")
		}, "listpack", "hashtable"},
		{"set-max-intset-entries 1", func(_ *engine.Engine, s *engine.Session) string {
			do(s, "DEL s")
			do(s, "SADD s 1 2")
			return do(s, "OBJECT ENCODING s")
		}, "intset", "hashtable"},
		{"zset-max-listpack-entries 1", func(_ *engine.Engine, s *engine.Session) string {
			do(s, "DEL z")
			do(s, "ZADD z 1 a 2 b")
			return do(s, "OBJECT ENCODING z")
		}, "listpack", "skiplist"},
		{"rl-log-max-units 5", func(_ *engine.Engine, s *engine.Session) string {
			return do(s, "RL.ALLOW w 6 1s PEEK")[:4]
		}, "[1 6", "ERR "},
		{"requirepass secret", func(e *engine.Engine, _ *engine.Session) string {
			return do(newSession(t, e), "PING")
		}, "PONG", "NOAUTH Authentication required."},
		{"proto-max-bulk-len 1048576", func(_ *engine.Engine, s *engine.Session) string {
			do(s, "DEL k")
			return do(s, "SETRANGE k 2000000 x")
		}, "2000001", "ERR string exceeds maximum allowed size (proto-max-bulk-len)"},
		{"lua-error-reply-prefix never", func(_ *engine.Engine, s *engine.Session) string {
			return do(s, "EVAL return(redis.error_reply('lower_case')) 0")
		}, "ERR lower_case", "lower_case"},
	} {
		t.Run(tc.set, func(t *testing.T) {
			e, _ := newEngine(t)
			s := newSession(t, e)
			require.Equal(t, tc.before, tc.observe(e, s))
			require.Equal(t, "OK", do(s, "CONFIG SET "+tc.set))
			require.Equal(t, tc.after, tc.observe(e, s))
		})
	}
}
