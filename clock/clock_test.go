package clock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
)

// hands are sources that a test moves.
type hands struct{ monotonic, wall int64 }

func (h *hands) pass(us int64) { h.monotonic += us; h.wall += us }

func newClock(h *hands) *clock.Clock {
	return clock.New(clock.Sources{
		Monotonic: func() int64 { return h.monotonic },
		Wall:      func() int64 { return h.wall },
	})
}

func TestFollowsTheWallForwards(t *testing.T) {
	h := &hands{monotonic: 7, wall: 1_000_000}
	c := newClock(h)
	h.pass(50)
	require.EqualValues(t, 1_000_050, c.NowUs())
	h.wall += 3_600_000_000 // set forwards by an hour
	require.Zero(t, c.Sync())
	require.Equal(t, h.wall, c.NowUs())
}

func TestNeverGoesBackAndRunsAtHalfSpeedUntilTheWallMeetsIt(t *testing.T) {
	h := &hands{wall: 10_000_000}
	c := newClock(h)
	h.wall -= 2_000_000
	require.EqualValues(t, 2_000_000, c.Sync())
	require.EqualValues(t, 10_000_000, c.NowUs())

	last := c.NowUs()
	for range 100 {
		h.pass(40_000)
		c.Sync()
		require.GreaterOrEqual(t, c.NowUs(), last)
		last = c.NowUs()
	}
	// 4 s later: half speed took the clock 2 s on, the wall 4 s: they meet.
	require.EqualValues(t, 12_000_000, c.NowUs())
	require.EqualValues(t, 12_000_000, h.wall)
	h.pass(1_000)
	require.Zero(t, c.Sync())
	require.Equal(t, h.wall, c.NowUs())
}

func TestFreezeAdvanceSetResume(t *testing.T) {
	h := &hands{wall: 1_700_000_000_123_456}
	c := newClock(h)
	c.Freeze()
	require.True(t, c.Frozen())
	require.EqualValues(t, 1_700_000_000_123_000, c.NowUs(), "a whole millisecond")
	h.pass(5_000_000)
	require.Zero(t, c.Sync())
	require.EqualValues(t, 1_700_000_000_123_000, c.NowUs())

	c.Advance(1_500)
	require.EqualValues(t, 1_700_000_001_623_000, c.NowUs())
	c.Set(200_000_000_000)
	require.EqualValues(t, 200_000_000_000_000, c.NowUs())
	c.Advance(1<<63 - 1)
	require.Positive(t, c.NowUs(), "the end of time, not an overflow")

	c.Set(200_000_000_000)
	c.Resume()
	h.pass(1_000)
	c.Sync()
	require.EqualValues(t, 200_000_000_001_000, c.NowUs(), "goes on from where it stood")
}

func TestStartAt(t *testing.T) {
	h := &hands{wall: 10_000_000}
	c := newClock(h)
	require.Zero(t, c.StartAt(9_999), "the wall is further")
	require.EqualValues(t, 10_000_000, c.NowUs())
	require.EqualValues(t, 2_000_000, c.StartAt(12_000))
	require.EqualValues(t, 12_000_000, c.NowUs())
	for range 4 {
		h.pass(1_000_000)
		c.Sync()
	}
	require.EqualValues(t, 14_000_000, c.NowUs(), "half speed, until they meet")
	c.Freeze()
	require.Zero(t, c.StartAt(20_000), "who holds the clock knows better")
	require.Positive(t, newClock(h).StartAt(1<<63-1), "no overflow")
}
