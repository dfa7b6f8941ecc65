// Package clock is the server's time: it follows the wall clock forwards at
// once and never goes back. It reads no clock itself; the sources are given,
// so that a test, or DEBUG CLOCK, holds it.
//
// # How it runs
//
// Time is a line through the last point at which it was set: so much clock per
// microsecond of the monotonic source. Reading it is a load and a
// multiplication, without a lock and without a shared write, and cannot go
// back. Sync, called every now and then, compares the line with the wall: a
// wall that is ahead is followed at once; while it is behind (somebody set it
// back), the line runs at half speed until they meet, so that windows go on
// and nobody is locked out for long.
package clock

import (
	"sync"
	"sync/atomic"
)

// Sources are what a Clock is made of, both in microseconds.
type Sources struct {
	Monotonic func() int64 // never goes back; its zero means nothing
	Wall      func() int64 // unix time; may be set by anybody at any time
}

// A Clock is safe for concurrent use.
type Clock struct {
	sources Sources
	line    atomic.Pointer[line]

	mu       sync.Mutex // held by whoever replaces line
	detached bool       // set by hand: the wall is not followed any more
}

// line is the clock from one setting to the next.
type line struct {
	monotonic int64 // the monotonic instant at which it began
	nowUs     int64 // the clock at that instant
	halves    int64 // speed: 2 is real time, 1 half of it, 0 frozen
}

const (
	frozen    = 0
	halfSpeed = 1
	realTime  = 2
)

// New returns a clock that shows the wall's time now.
func New(s Sources) *Clock {
	c := &Clock{sources: s}
	c.line.Store(&line{s.Monotonic(), s.Wall(), realTime})
	return c
}

// NowUs returns the time in unix microseconds. It never returns less than it
// returned before, except after Set.
func (c *Clock) NowUs() int64 {
	l := c.line.Load()
	if l.halves == frozen {
		return l.nowUs
	}
	return l.nowUs + (c.sources.Monotonic()-l.monotonic)*l.halves/2
}

// MonotonicUs returns real time, which nobody holds or moves: for what is due to
// clients however the clock stands.
func (c *Clock) MonotonicUs() int64 { return c.sources.Monotonic() }

// Sync compares the clock with the wall, and returns by how many microseconds
// the clock is ahead of it (0 where it follows).
func (c *Clock) Sync() (aheadUs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached {
		return 0
	}
	nowUs, wallUs := c.NowUs(), c.sources.Wall()
	if wallUs >= nowUs {
		c.restart(wallUs, realTime)
		return 0
	}
	c.restart(nowUs, halfSpeed)
	return nowUs - wallUs
}

// Freeze holds the clock at the last whole millisecond.
func (c *Clock) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	nowUs := c.NowUs()
	c.restart(nowUs-nowUs%1000, frozen)
}

// Frozen reports whether the clock stands still.
func (c *Clock) Frozen() bool { return c.line.Load().halves == frozen }

// Advance moves the clock forwards by ms milliseconds; it stops at the end of
// time instead of overflowing.
func (c *Clock) Advance(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	nowUs := c.NowUs()
	c.restart(nowUs+min(ms, (maxUs-nowUs)/1000)*1000, c.line.Load().halves)
}

// maxUs is the last instant a clock shows, a thousand times below overflow: a
// window added to it stays an int64.
const maxUs = (1<<63 - 1) / 1000

// Set moves the clock to an instant in unix milliseconds, backwards too.
func (c *Clock) Set(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	c.restart(min(ms, maxUs/1000)*1000, c.line.Load().halves)
}

// Resume lets a frozen clock go on from where it stands, no longer with the
// wall.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restart(c.NowUs(), realTime)
}

// restart begins a new line. It requires mu to be held.
func (c *Clock) restart(nowUs, halves int64) {
	c.line.Store(&line{c.sources.Monotonic(), nowUs, halves})
}

// StartAt makes the clock show at least ms unix milliseconds, and returns by how
// many microseconds that has put it ahead of the wall, 0 where it was there
// already. It is for the start, where it is known until when the clock ran
// before.
func (c *Clock) StartAt(ms int64) (aheadUs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	us := min(ms, maxUs/1000) * 1000
	if c.detached || us <= c.NowUs() {
		return 0
	}
	c.restart(us, halfSpeed)
	return max(us-c.sources.Wall(), 0)
}
