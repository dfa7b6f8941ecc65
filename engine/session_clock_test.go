package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
)

// TestDebugClockHoldsAndResumes checks that a frozen clock ignores the wall clock, and
// that a resumed one goes on from where it stopped, at the speed of real time.
func TestDebugClockHoldsAndResumes(t *testing.T) {
	e, hands, s := newServer(t, "--enable-debug-command", "yes")
	hands.us.Add(1234) // 1.234 ms
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
		return infoOf(s, "clock_ahead_usec")
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
