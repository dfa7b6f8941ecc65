package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
)

func TestDebugClockRules(t *testing.T) {
	const (
		syntax = "ERR DEBUG CLOCK takes FREEZE, ADVANCE milliseconds, SET unix-time-milliseconds or RESUME"
		number = "ERR milliseconds is not an integer or out of range"
		step   = "ERR milliseconds must be from 0 to what is left until 9223372036854 unix milliseconds"
		set    = "ERR unix-time-milliseconds must be from 100000000000 to 9223372036854"
		back   = "ERR DEBUG CLOCK SET moves the clock back only on an empty keyspace"
	)
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	s := newSession(t, e)
	at := func(ms int64) string { return fmt.Sprintf("[%d %d]", ms/1000, ms%1000*1000) }
	dialog{
		{"DEBUG CLOCK", "ERR unknown subcommand or wrong number of arguments for 'CLOCK'. Try DEBUG HELP."},
		{"DEBUG CLOCK NOSUCH", syntax},
		{"DEBUG CLOCK FREEZE 1", syntax},
		{"DEBUG CLOCK RESUME now", syntax},
		{"DEBUG CLOCK ADVANCE", syntax},
		{"DEBUG CLOCK ADVANCE 1 2", syntax},
		{"DEBUG CLOCK SET", syntax},
		{"DEBUG CLOCK ADVANCE -1", step},
		{"DEBUG CLOCK ADVANCE -9223372036854775808", step},
		{"DEBUG CLOCK ADVANCE 7523372036855", step},
		{"DEBUG CLOCK ADVANCE 9223372036854775807", step},
		{"DEBUG CLOCK ADVANCE 1.5", number},
		{"DEBUG CLOCK ADVANCE 1s", number},
		{"DEBUG CLOCK ADVANCE 9223372036854775808", number},
		{"DEBUG CLOCK SET -5", set},
		{"DEBUG CLOCK SET 99999999999", set},
		{"DEBUG CLOCK SET 0", set},
		{"DEBUG CLOCK SET 9223372036855", set},
		{"DEBUG CLOCK SET 9223372036854775807", set},
		{"DEBUG CLOCK SET 9223372036854775808", number},
		{"DEBUG CLOCK SET soon", number},
		{"TIME", at(startNowMs)}, // nothing of this moved it

		{"debug clock freeze", "OK"},
		{"DEBUG CLOCK ADVANCE 1500", "OK"},
		{"TIME", at(startNowMs + 1500)},
		{"DEBUG CLOCK ADVANCE 0", "OK"},
		{"DEBUG CLOCK SET 1800000000000", "OK"},
		{"TIME", at(1_800_000_000_000)},
		// Back on an empty keyspace only, and no key of any database may be there.
		{"DEBUG CLOCK SET 1799999999999", "OK"},
		{"TIME", at(1_799_999_999_999)},
		{"SELECT 9", "OK"},
		{"SET k v", "OK"},
		{"SELECT 0", "OK"},
		{"DEBUG CLOCK SET 1799999999998", back},
		{"DEBUG CLOCK SET 1799999999999", "OK"}, // standing still is not back
		{"DEBUG CLOCK SET 1800000000000", "OK"},
		{"FLUSHALL", "OK"},
		{"DEBUG CLOCK SET 100000000000", "OK"},
		{"TIME", at(100_000_000_000)},
		{"RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
		{"DEBUG CLOCK ADVANCE 9123372036855", step},
		{"DEBUG CLOCK ADVANCE 9123372036854", "OK"}, // to the end of time
		{"DEBUG CLOCK ADVANCE 1", step},
		{"TIME", at(9_223_372_036_854)},
		{"SET k v EX 1000000", "OK"},
		{"RL.ALLOW l 1 1s", "ERR the server's clock is outside the range of a log"},
	}.play(t, s)
}

func TestDebugClockIsRefused(t *testing.T) {
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	s := newSession(t, e)
	for _, line := range []string{
		"DEBUG CLOCK FREEZE", "DEBUG CLOCK ADVANCE 5",
		"DEBUG CLOCK SET 1800000000000", "DEBUG CLOCK RESUME",
	} {
		dialog{
			{"MULTI", "OK"},
			{line, "ERR Command not allowed inside a transaction"},
			{"EXEC", "EXECABORT Transaction discarded because of previous errors."},
		}.play(t, s)
		require.Contains(t, doWords(s, "EVAL", "return redis.call(unpack(ARGV))", "0", "DEBUG", "CLOCK",
			"FREEZE"),
			"ERR This Redis command is not allowed from script")
	}
	require.Equal(t, "[1700000000 0]", do(s, "TIME"))
	require.False(t, e.Clock().Frozen())
}

// TestDebugClockAdvanceExpires checks that all keys that are due are removed when the
// reply comes, from the counts too.
func TestDebugClockAdvanceExpires(t *testing.T) {
	e, _ := newEngine(t, "--enable-debug-command", "local")
	s := newSession(t, e)
	do(s, "DEBUG CLOCK FREEZE")
	const each = 500
	for db := range 3 {
		do(s, fmt.Sprint("SELECT ", db))
		for i := range each {
			do(s, fmt.Sprintf("SET short:%d v PX %d", i, 100+i%7))
			do(s, fmt.Sprintf("RL.ALLOW long:%d 1 10s", i))
		}
	}
	count := func() (out []string) {
		for db := range 3 {
			do(s, fmt.Sprint("SELECT ", db))
			out = append(out, do(s, "DBSIZE"))
		}
		return out
	}
	require.Equal(t, []string{"1000", "1000", "1000"}, count())
	do(s, "DEBUG CLOCK ADVANCE 100")
	require.Equal(t, []string{"1000", "1000", "1000"}, count(), "at its deadline a key still lives")
	do(s, "DEBUG CLOCK ADVANCE 7")
	require.Equal(t, []string{"500", "500", "500"}, count())
	do(s, "DEBUG CLOCK SET 1700000010000")
	require.Equal(t, []string{"500", "500", "500"}, count())
	require.Equal(t, "[1 1 1 0 0]", do(s, "RL.ALLOW long:0 1 10s COST 0"))
	do(s, "DEBUG CLOCK ADVANCE 1")
	require.Equal(t, []string{"0", "0", "0"}, count())
	require.Equal(t, "3000", field(t, s, "stats", "expired_keys"))
	// Nothing is left, so the clock may go back.
	require.Equal(t, "OK", do(s, "DEBUG CLOCK SET 1700000000000"))
}

// TestDebugClockHoldsAndResumes checks that a frozen clock ignores the wall clock, and
// that a resumed one goes on from where it stopped, at the speed of real time.
func TestDebugClockHoldsAndResumes(t *testing.T) {
	e, hands := newEngine(t, "--enable-debug-command", "yes")
	s := newSession(t, e)
	hands.us += 1234 // 1.234 ms
	do(s, "DEBUG CLOCK FREEZE")
	require.Equal(t, "[1700000000 1000]", do(s, "TIME"), "a whole millisecond")
	hands.pass(60_000)
	e.Tick()
	require.Equal(t, "[1700000000 1000]", do(s, "TIME"))
	require.Equal(t, "OK", do(s, "SET k v PX 500"))
	do(s, "DEBUG CLOCK ADVANCE 100")
	require.Equal(t, "400", do(s, "PTTL k"))
	do(s, "DEBUG CLOCK RESUME")
	hands.pass(50)
	e.Tick()
	require.Equal(t, "[1700000000 151000]", do(s, "TIME"))
	require.Equal(t, "350", do(s, "PTTL k"))
	hands.pass(351)
	require.Equal(t, "-2", do(s, "PTTL k"))
	// A clock that runs can be moved too.
	do(s, "DEBUG CLOCK ADVANCE 1000")
	hands.pass(10)
	require.Equal(t, "[1700000001 512000]", do(s, "TIME"))
}

// TestDebugClockBackOverDueKeys checks that a due key that is not yet removed does not
// stop the clock.
func TestDebugClockBackOverDueKeys(t *testing.T) {
	e, hands := newEngine(t, "--enable-debug-command", "yes")
	s := newSession(t, e)
	do(s, "SET k v PX 10")
	hands.pass(11)
	require.Equal(t, "1", do(s, "DBSIZE"))
	require.Equal(t, "OK", do(s, "DEBUG CLOCK SET 1700000000000"))
	require.Equal(t, "0", do(s, "EXISTS k"))
}

// TestClockAhead checks that clock_ahead_usec is computed when INFO is called, not at the
// last Tick.
func TestClockAhead(t *testing.T) {
	wallUs, monotonicUs := int64(startNowMs*1000), int64(0)
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{
		Monotonic: func() int64 { return monotonicUs },
		Wall:      func() int64 { return wallUs },
	})})
	s := newSession(t, e)
	ahead := func(passUs int64) string {
		monotonicUs += passUs
		wallUs += passUs
		return field(t, s, "stats", "clock_ahead_usec")
	}
	require.Equal(t, "0", ahead(1_000_000))
	wallUs -= 20_000 // somebody sets it back
	e.Tick()
	require.Equal(t, "20000", ahead(0))
	require.Equal(t, "15000", ahead(10_000))
	require.Equal(t, "0", ahead(30_000))
	require.Equal(t, "[1700000001 20000]", do(s, "TIME"))
	require.Equal(t, "0", ahead(1_000_000))
}
