package clock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
)

// fakeSources are sources that a test moves.
type fakeSources struct{ monotonic, wall int64 }

func (h *fakeSources) advance(us int64) { h.monotonic += us; h.wall += us }

func newClock(h *fakeSources) *clock.Clock {
	return clock.New(clock.Sources{
		Monotonic: func() int64 { return h.monotonic },
		Wall:      func() int64 { return h.wall },
	})
}

func TestFollowsWallForwards(t *testing.T) {
	h := &fakeSources{monotonic: 7, wall: 1_000_000}
	c := newClock(h)
	h.advance(50)
	require.EqualValues(t, 1_000_050, c.NowUs())
	h.wall += 3_600_000_000 // an hour forwards
	c.Sync()
	require.Zero(t, c.AheadUs())
	require.Equal(t, h.wall, c.NowUs())
}

func TestHalfSpeedAfterStepBack(t *testing.T) {
	h := &fakeSources{wall: 10_000_000}
	c := newClock(h)
	h.wall -= 2_000_000
	c.Sync()
	require.EqualValues(t, 2_000_000, c.AheadUs())
	require.EqualValues(t, 10_000_000, c.NowUs())

	last := c.NowUs()
	for range 100 {
		h.advance(40_000)
		c.Sync()
		require.GreaterOrEqual(t, c.NowUs(), last)
		last = c.NowUs()
	}
	// 4 s later: the clock has gone 2 s at half speed, the wall 4 s, and they meet.
	require.EqualValues(t, 12_000_000, c.NowUs())
	require.EqualValues(t, 12_000_000, h.wall)
	h.advance(1_000)
	c.Sync()
	require.Zero(t, c.AheadUs())
	require.Equal(t, h.wall, c.NowUs())
}

func TestFreezeAdvanceSetResume(t *testing.T) {
	h := &fakeSources{wall: 1_700_000_000_123_456}
	c := newClock(h)
	c.Freeze()
	require.True(t, c.Frozen())
	require.EqualValues(t, 1_700_000_000_123_000, c.NowUs(), "a whole millisecond")
	h.advance(5_000_000)
	c.Sync()
	require.Zero(t, c.AheadUs())
	require.EqualValues(t, 1_700_000_000_123_000, c.NowUs())

	require.NoError(t, c.Advance(1_500))
	require.EqualValues(t, 1_700_000_001_623_000, c.NowUs())
	require.NoError(t, c.Set(200_000_000_000))
	require.EqualValues(t, 200_000_000_000_000, c.NowUs())
	c.Resume()
	h.advance(1_000)
	c.Sync()
	require.EqualValues(t, 200_000_000_001_000, c.NowUs(), "continues from its time")
}

func TestStartAt(t *testing.T) {
	h := &fakeSources{wall: 10_000_000}
	c := newClock(h)
	require.Zero(t, c.StartAt(9_999), "the wall is ahead")
	require.EqualValues(t, 10_000_000, c.NowUs())
	require.EqualValues(t, 2_000_000, c.StartAt(12_000))
	require.EqualValues(t, 12_000_000, c.NowUs())
	for range 4 {
		h.advance(1_000_000)
		c.Sync()
	}
	require.EqualValues(t, 14_000_000, c.NowUs(), "half speed, until they meet")
	c.Freeze()
	require.Zero(t, c.StartAt(20_000), "a frozen clock is not moved")
	require.Positive(t, newClock(h).StartAt(1<<63-1), "no overflow")
}

// TestRange: a clock is not moved out of the range, and an error does not move it.
func TestRange(t *testing.T) {
	h := &fakeSources{wall: 1_700_000_000_123_456}
	c := newClock(h)
	for _, ms := range []int64{-1, -1 << 63, clock.MaxMs + 1, 1<<63 - 1} {
		require.ErrorIs(t, c.Set(ms), clock.ErrRange, "%d", ms)
	}
	left := int64(clock.MaxMs - 1_700_000_000_123)
	for _, ms := range []int64{-1, -1 << 63, left + 1, 1<<63 - 1} {
		require.ErrorIs(t, c.Advance(ms), clock.ErrRange, "%d", ms)
	}
	require.EqualError(t, clock.ErrRange,
		fmt.Sprintf("clock: an instant must be from 0 to %d unix milliseconds, and Advance goes forwards",
			int64(clock.MaxMs)))
	h.wall += 5
	c.Sync()
	require.Equal(t, h.wall, c.NowUs(), "the wall is still followed")

	require.NoError(t, c.Advance(left))
	require.EqualValues(t, clock.MaxMs, c.NowUs()/1000)
	require.NoError(t, c.Advance(0))
	require.ErrorIs(t, c.Advance(1), clock.ErrRange)
	for _, ms := range []int64{0, clock.MaxMs} {
		require.NoError(t, c.Set(ms))
		require.Equal(t, ms*1000, c.NowUs())
	}
}

// TestMoveWhileAhead: a clock that no longer follows the wall runs at full speed.
func TestMoveWhileAhead(t *testing.T) {
	for name, move := range map[string]func(c *clock.Clock) error{
		"advance": func(c *clock.Clock) error { return c.Advance(100) },
		"set":     func(c *clock.Clock) error { return c.Set(200_000_000_000) },
		"freeze":  func(c *clock.Clock) error { c.Freeze(); c.Resume(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := &fakeSources{wall: 1_700_000_000_000_000}
			c := newClock(h)
			h.wall -= 60_000_000
			c.Sync()
			h.advance(10)
			require.NoError(t, move(c))
			require.Zero(t, c.AheadUs())
			begin := c.NowUs()
			h.advance(1_000_000)
			c.Sync()
			require.Equal(t, begin+1_000_000, c.NowUs())
		})
	}
}

// TestAllocations: neither a reading nor a Sync without a change allocates.
func TestAllocations(t *testing.T) {
	h := &fakeSources{wall: 1_700_000_000_000_000}
	c := newClock(h)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		h.advance(100_000)
		c.Sync()
		if c.NowUs() != h.wall || c.AheadUs() != 0 {
			t.Fatal(c.NowUs(), h.wall)
		}
	}))
}

func BenchmarkNowUs(b *testing.B) {
	begin := time.Now()
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { return time.Since(begin).Microseconds() },
		Wall:      func() int64 { return time.Now().UnixMicro() },
	})
	b.ReportAllocs()
	for b.Loop() {
		c.NowUs()
	}
}

func TestAlign(t *testing.T) {
	for _, aheadUs := range []int64{-2_000_000, 0, 2_000_000} {
		h := &fakeSources{monotonic: 7, wall: 10_000_000}
		c := newClock(h)
		h.advance(100)
		c.Align(c.NowUs() + aheadUs - h.monotonic)
		require.Equal(t, 10_000_100+aheadUs, c.NowUs())
		require.Equal(t, aheadUs, c.ShiftUs())
		h.advance(1_000)
		c.Sync()
		require.Equal(t, 10_001_100+aheadUs, c.NowUs())
		require.Zero(t, c.AheadUs(), "the distance from the wall clock stays")
		h.wall += 5_000_000 // the wall clock steps
		c.Sync()
		require.Equal(t, 15_001_100+aheadUs, c.NowUs())
	}
	h := &fakeSources{wall: 10_000_000}
	c := newClock(h)
	c.Freeze()
	c.Align(5)
	require.EqualValues(t, 10_000_000, c.NowUs(), "a frozen clock is not aligned")
	require.Zero(t, c.ShiftUs())
}

// TestReset checks that a clock that was frozen, moved and aligned follows the wall again.
func TestReset(t *testing.T) {
	monotonic, wall := int64(0), int64(1_700_000_000_000_000)
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { return monotonic },
		Wall:      func() int64 { return wall },
	})
	c.Align(wall + 5_000_000)
	c.Freeze()
	require.NoError(t, c.Advance(3_600_000))
	c.Reset()
	require.False(t, c.Frozen())
	require.Zero(t, c.ShiftUs())
	require.Equal(t, wall, c.NowUs())
	monotonic, wall = monotonic+1000, wall+1000
	require.Equal(t, wall, c.NowUs())
	wall += 10_000_000
	c.Sync()
	require.Equal(t, wall, c.NowUs())
}
