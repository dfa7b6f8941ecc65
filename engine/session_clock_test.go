package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
)

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
