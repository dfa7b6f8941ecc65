package zlimittest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
)

// TestFrozenStart checks that a frozen server begins at the very instant that was asked
// for, on a machine where each reading of the clock is a millisecond later.
func TestFrozenStart(t *testing.T) {
	t.Parallel()
	var us int64
	tick := func() int64 { us += 1000; return us }
	c := clock.New(clock.Sources{Monotonic: tick, Wall: tick})
	o := Options{Now: time.UnixMilli(1_700_000_000_000), Frozen: true}
	require.NoError(t, o.start(c))
	require.Equal(t, int64(1_700_000_000_000_000), c.NowUs())
	require.True(t, c.Frozen())
}
