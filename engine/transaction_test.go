package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
)

// A dialog is command lines and their replies, in order.
type dialog []struct{ line, want string }

func (d dialog) play(t *testing.T, s *engine.Session) {
	t.Helper()
	for i, step := range d {
		require.Equal(t, step.want, do(s, step.line), "step %d: %s", i, step.line)
	}
}

// runningEngine returns an engine whose clock advances by 7 ms with every reading.
func runningEngine() (*engine.Engine, *int64) {
	us := new(int64)
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { *us += 7000; return *us },
		Wall:      func() int64 { return startNowMs * 1000 },
	})
	return engine.New(engine.Options{Clock: c}), us
}

// TestExecAndScriptsRunAtOneInstant: only TIME, asked for, says how it moves on, as in Redis 7.0.
func TestExecAndScriptsRunAtOneInstant(t *testing.T) {
	e, _ := runningEngine()
	s := newSession(t, e)
	first := do(s, "TIME")
	require.NotEqual(t, first, do(s, "TIME"), "this clock does not run")

	dialog{
		{"MULTI", "OK"},
		{"TIME", "QUEUED"},
		{"SET k v PX 1000", "QUEUED"},
		{"PTTL k", "QUEUED"},
		{"RL.ALLOW l 1 1s", "QUEUED"},
		{"RL.ALLOW l 1 1s", "QUEUED"},
		{"TIME", "QUEUED"},
	}.play(t, s)
	replies := s.Do(args("EXEC")).Elems()
	require.Len(t, replies, 6)
	require.Less(t, show(replies[0]), show(replies[5]))
	require.Equal(t, "1000", show(replies[2]))
	require.Equal(t, "[1 1 0 0 1000]", show(replies[3]))
	require.Equal(t, "[0 1 0 1000 1000]", show(replies[4]))

	for _, script := range []string{
		"local a = redis.call('TIME') for i = 1, 1000 do end local b = redis.call('TIME') return " +
			"a[1]*1000000+a[2]<b[1]*1000000+b[2]",
		// A budget of time ends.
		"local function us() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end " +
			"local begin, n = us(), 0 while us() - begin < 50000 do n = n + 1 end return n > 0",
		"redis.call('SET', KEYS[1], 'v', 'PX', 500) return redis.call('PTTL', KEYS[1]) == 500",
		"redis.call('RL.ALLOW', KEYS[1]..'l', 1, 1000) return redis.call('RL.ALLOW', KEYS[1]..'l', 1, " +
			"1000)[4] == 1000",
	} {
		require.Equal(t, "1", doWords(s, "EVAL", script, "1", "x"), script)
	}
}

func TestAKeyDoesNotExpireInsideExec(t *testing.T) {
	e, us := runningEngine()
	s := newSession(t, e)
	do(s, "SET k v PX 30")
	*us += 10_000
	dialog{
		{"MULTI", "OK"},
		{"GET k", "QUEUED"},
		{"GET k", "QUEUED"},
		{"GET k", "QUEUED"},
		{"GET k", "QUEUED"},
	}.play(t, s)
	replies := strings.Fields(strings.Trim(do(s, "EXEC"), "[]"))
	require.Len(t, replies, 4)
	for _, r := range replies {
		require.Equal(t, replies[0], r)
	}
}
