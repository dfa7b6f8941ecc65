// Package clock is the server's time: it follows the wall clock forwards at
// once and never goes back. It reads no clock itself; the sources are given,
// so that a test, or DEBUG CLOCK, holds it.
//
// # How it runs
//
// Time is a line over the monotonic source: half speed for a stretch, which is
// usually empty, and real time from there on. Reading it is two loads, a
// subtraction and a minimum, without a lock and without a shared write.
//
// Sync, called every now and then, compares the line with the wall. A wall that
// is ahead is followed at once. While the wall is behind (somebody set it back),
// the line runs at half speed until they meet, so that windows go on and nobody
// is locked out for long. When they meet is known from the start and is a part
// of the line: the clock is right from then on, however late the next Sync is.
//
// Both sources are cut to microseconds and cannot be read at one instant, so the
// distance between them is known as a range only. A line inside of that range is
// left alone. See docs/adr/0024-the-clock.md.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package clock

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Sources are what a Clock reads, both in microseconds.
type Sources struct {
	Monotonic func() int64 // never goes back; its zero means nothing
	Wall      func() int64 // unix time; may be set by anybody at any time
}

// A Clock is safe for concurrent use.
type Clock struct {
	sources Sources
	line    atomic.Pointer[line] // nil while it is being replaced

	mu       sync.Mutex // held by whoever replaces line
	detached bool       // set by hand: the wall is not followed any more
}

// New returns a clock that shows the wall's time now.
func New(s Sources) *Clock {
	c := &Clock{sources: s}
	measured := c.measureOffset()
	monotonic := s.Monotonic()
	c.line.Store(&line{monotonic: monotonic, nowUs: monotonic + measured.low + (measured.high-measured.low)/2})
	return c
}

// NowUs returns the time in unix microseconds. It never returns less than a call
// that has ended before it began, except after Set, and by less than a
// millisecond after Freeze.
func (c *Clock) NowUs() int64 {
	for {
		l := c.line.Load()
		if l == nil {
			c.awaitReplace()
			continue
		}
		nowUs := l.at(c.sources.Monotonic())
		// A line that was replaced in between may have been followed past the
		// point where the next one, which is perhaps slower, left it.
		if c.line.Load() == l {
			return nowUs
		}
	}
}

// awaitLine returns when the line has been replaced.
func (c *Clock) awaitReplace() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

// MonotonicUs returns real time, which nobody holds or moves: for what is due to
// clients however the clock stands.
func (c *Clock) MonotonicUs() int64 { return c.sources.Monotonic() }

// AheadUs returns by how many microseconds the clock is ahead of the wall as Sync
// or StartAt found it: 0 where they have met since, or where the clock was moved
// by hand.
func (c *Clock) AheadUs() int64 {
	for {
		if l := c.line.Load(); l != nil {
			return l.ahead(c.sources.Monotonic())
		}
		c.awaitReplace()
	}
}

// Sync compares the clock with the wall. It is called a few times a second; how
// often decides how soon a step of the wall is noticed, and nothing else.
func (c *Clock) Sync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached {
		return
	}
	measured := c.measureOffset()
	offset := c.line.Load().offset()
	nearest := min(max(offset, measured.low), measured.high)
	if d := offset - nearest; -roundingUs <= d && d <= roundingUs {
		return
	}
	c.replace(func(l *line, monotonic int64) *line { return newLine(monotonic, l.at(monotonic), monotonic+nearest) })
}

// StartAt makes the clock show at least ms unix milliseconds, and returns by how
// many microseconds that has put it ahead of the wall, 0 where it was there
// already. It is for the start, where it is known until when the clock ran
// before.
func (c *Clock) StartAt(ms int64) (aheadUs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached {
		return 0
	}
	us := min(ms, MaxMs) * 1000
	measured := c.measureOffset()
	c.replace(func(l *line, monotonic int64) *line {
		if us <= l.at(monotonic) {
			return l
		}
		l = newLine(monotonic, us, monotonic+measured.low)
		aheadUs = l.ahead(monotonic)
		return l
	})
	return aheadUs
}

// MaxMs is the last instant, in unix milliseconds, to which a clock can be moved:
// in 2262. It is a thousand times below overflow in microseconds, so that a window
// added to it stays an int64. The first instant is 0.
const MaxMs = (1<<63 - 1) / 1_000_000

// ErrRange is the error of Set and Advance.
var ErrRange = errors.New("clock: an instant must be from 0 to 9223372036854 unix milliseconds, and Advance goes forwards")

// Set moves the clock to an instant in unix milliseconds, backwards too. The wall
// is not followed from then on. The error is ErrRange, and nothing has moved then.
func (c *Clock) Set(ms int64) error {
	if ms < 0 || ms > MaxMs {
		return ErrRange
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	c.replace(func(l *line, monotonic int64) *line {
		return &line{monotonic: monotonic, nowUs: ms * 1000, frozen: l.frozen}
	})
	return nil
}

// Advance moves the clock forwards by ms milliseconds. The wall is not followed
// from then on. The error is ErrRange, and nothing has moved then.
func (c *Clock) Advance(ms int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	c.replace(func(l *line, monotonic int64) *line {
		nowUs := l.at(monotonic)
		if ms < 0 || ms > MaxMs-nowUs/1000 {
			err = ErrRange
			return l
		}
		c.detached = true
		return &line{monotonic: monotonic, nowUs: nowUs + ms*1000, frozen: l.frozen}
	})
	return err
}

// Freeze holds the clock at the last whole millisecond. The wall is not followed
// from then on.
func (c *Clock) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	c.replace(func(l *line, monotonic int64) *line {
		nowUs := l.at(monotonic)
		return &line{monotonic: monotonic, nowUs: nowUs - nowUs%1000, frozen: true}
	})
}

// Frozen reports whether the clock stands still.
func (c *Clock) Frozen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.Load().frozen
}

// Resume lets a frozen clock go on from where it stands, no longer with the
// wall.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replace(func(l *line, monotonic int64) *line {
		if !l.frozen {
			return l
		}
		return &line{monotonic: monotonic, nowUs: l.nowUs}
	})
}

// replace ends the present line at an instant and puts what next returns in its
// place. It requires mu to be held.
//
// While the instant is read there is no line, so whoever has read the time from
// the present one read it at or before that instant.
func (c *Clock) replace(next func(l *line, monotonic int64) *line) {
	l := c.line.Swap(nil)
	c.line.Store(next(l, c.sources.Monotonic()))
}
