package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// TestDoctorOnOneCallSessions checks which scripts are looked at if a session has one call, as those of
// Limiter.Do have. The program's own sessions are taken for one connection, those of clients are not.
func TestDoctorOnOneCallSessions(t *testing.T) {
	race.OneGoroutine(t)
	const clean, wrong = 300, 200
	for owner, all := range map[bool]bool{true: false, false: true} {
		e, h := newEngine(t, "--rl-doctor", "yes")
		call := func(script, arg string) {
			s := e.NewSession(engine.Peer{Addr: "x", Owner: owner, Local: true})
			defer s.Close()
			doWords(s, "EVALSHA", sha1Hex(script), "1", "k", arg)
		}
		const right, merging = "return 1", "return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])"
		for _, script := range []string{right, merging} {
			doWords(newSession(t, e), "SCRIPT", "LOAD", script)
		}
		for range clean {
			call(right, "")
		}
		for range wrong {
			call(merging, ms(startNowMs+h.us.Load()/1000))
		}
		var found int
		require.Len(t, doctorFindings(e), 1)
		_, err := fmt.Sscanf(doctorFindings(e)[0], "merged-hits %d", &found)
		require.NoError(t, err)
		require.Positive(t, found)
		require.Equal(t, all, found == wrong-1, "owner %v: %d", owner, found)
	}
}
