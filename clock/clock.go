// Package clock is the server's time: it follows the wall clock forwards at once and
// never goes back. It reads no clock itself; its sources are arguments, so that a
// test, or DEBUG CLOCK, can control it.
//
// # Algorithm
//
// Time is a line over the monotonic source: half speed for an initial period, which
// is usually empty, and real time afterwards. Reading it is two loads, a subtraction
// and a minimum, without a lock or a shared write.
//
// Sync, called periodically, compares the line with the wall clock. If the wall is
// ahead, the line follows at once. If it is behind, because it was set back, the line
// runs at half speed until they meet, so that windows go on and nobody is locked out
// for long. When they meet is known from the start and is part of the line: the clock
// is right from then on, however late the next Sync is.
//
// Both sources are truncated to microseconds and cannot be read at the same instant,
// so their offset is known only as a range. A line within that range is not changed.
// See docs/adr/0024-the-clock.md.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package clock

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Sources are the clocks that a Clock reads, in microseconds.
type Sources struct {
	Monotonic func() int64 // never goes back; its zero is arbitrary
	Wall      func() int64 // unix time; may be set at any time
}

// A Clock is the server's time. It may be used concurrently.
type Clock struct {
	sources Sources
	line    atomic.Pointer[line] // nil while it is being replaced

	mu       sync.Mutex // held to replace line
	detached bool       // moved or frozen: the wall is no longer followed
	shiftUs  int64      // protected by mu: added to the wall clock, see Align
}

// New returns a clock that shows the wall clock's time.
func New(s Sources) *Clock {
	c := &Clock{sources: s}
	measured := c.measureOffset()
	monotonic := s.Monotonic()
	offset := measured.low + (measured.high-measured.low)/2
	c.line.Store(&line{monotonic: monotonic, nowUs: monotonic + offset})
	return c
}

// NowUs returns the time in unix microseconds. It never returns less than a call
// that has returned before it began, except after Set and Align, and after Freeze by
// less than a millisecond.
func (c *Clock) NowUs() int64 {
	for {
		l := c.line.Load()
		if l == nil {
			c.awaitReplace()
			continue
		}
		nowUs := l.at(c.sources.Monotonic())
		// The old line may have gone beyond the point where its replacement, which
		// is perhaps slower, started.
		if c.line.Load() == l {
			return nowUs
		}
	}
}

// Read returns NowUs and MonotonicUs of the same instant, for one reading of the
// monotonic source.
func (c *Clock) Read() (nowUs, monotonicUs int64) {
	for {
		l := c.line.Load()
		if l == nil {
			c.awaitReplace()
			continue
		}
		monotonicUs = c.sources.Monotonic()
		nowUs = l.at(monotonicUs)
		if c.line.Load() == l { // see NowUs
			return nowUs, monotonicUs
		}
	}
}

// awaitReplace blocks until the line has been replaced.
func (c *Clock) awaitReplace() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

// MonotonicUs returns real time, which cannot be frozen or moved, for timeouts of
// clients.
func (c *Clock) MonotonicUs() int64 { return c.sources.Monotonic() }

// AheadUs returns by how many microseconds the clock is ahead of the wall clock, as
// measured by the last Sync or StartAt: 0 if they have met since, or if the clock
// was moved.
func (c *Clock) AheadUs() int64 {
	for {
		if l := c.line.Load(); l != nil {
			return l.ahead(c.sources.Monotonic())
		}
		c.awaitReplace()
	}
}

// Sync compares the clock with the wall clock. It is called a few times a second,
// which only determines how soon a step of the wall clock is noticed.
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
	c.replace(func(l *line, monotonic int64) *line {
		return newLine(monotonic, l.at(monotonic), monotonic+nearest)
	})
}

// StartAt makes the clock show at least ms unix milliseconds. It returns by how
// many microseconds this has put it ahead of the wall clock, 0 if it was there
// already. It is called at start, with the last known time of the previous run.
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

// Align makes the clock continue the time of another machine, whose clock is offsetUs
// ahead of this one's monotonic source: possibly backwards. From there it follows the
// wall clock at the distance that both then have, so that neither a difference between
// the machines' clocks nor the end of one changes how long a window is. A clock that
// was moved or frozen is not aligned.
func (c *Clock) Align(offsetUs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached {
		return
	}
	measured := c.measureOffset()
	c.shiftUs += offsetUs - (measured.low + (measured.high-measured.low)/2)
	c.replace(func(_ *line, monotonic int64) *line {
		return &line{monotonic: monotonic, nowUs: monotonic + offsetUs}
	})
}

// ShiftUs returns by how many microseconds Align has moved the clock from the wall
// clock.
func (c *Clock) ShiftUs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shiftUs
}

// MaxMs is the last instant, in unix milliseconds, to which a clock can be moved,
// in 2262. It is a thousandth of the overflow in microseconds, so that adding a
// window does not overflow an int64. The first instant is 0.
const MaxMs = (1<<63 - 1) / 1_000_000

// ErrRange is the error of Set and Advance.
var ErrRange = errors.New(
	"clock: an instant must be from 0 to 9223372036854 unix milliseconds, and Advance goes forwards")

// Set moves the clock to an instant in unix milliseconds, possibly backwards. The
// wall clock is no longer followed. If it returns ErrRange, the clock has not
// changed.
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

// Advance moves the clock forwards by ms milliseconds. The wall clock is no longer
// followed. If it returns ErrRange, the clock has not changed.
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

// Freeze stops the clock at the last whole millisecond. The wall clock is no longer
// followed.
func (c *Clock) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached = true
	c.replace(func(l *line, monotonic int64) *line {
		nowUs := l.at(monotonic)
		return &line{monotonic: monotonic, nowUs: nowUs - nowUs%1000, frozen: true}
	})
}

// Frozen reports whether the clock is frozen.
func (c *Clock) Frozen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.Load().frozen
}

// Resume lets a frozen clock continue from its time, without following the wall
// clock.
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

// Reset makes the clock show the wall clock's time, possibly going back, and follow it, as
// if it were new.
func (c *Clock) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached, c.shiftUs = false, 0
	measured := c.measureOffset()
	c.replace(func(_ *line, monotonic int64) *line {
		return &line{monotonic: monotonic, nowUs: monotonic + measured.low + (measured.high-measured.low)/2}
	})
}

// replace replaces the line by what next returns for it and the current instant. It
// requires that mu is held.
//
// While the instant is read there is no line, so whatever was read from the old
// line was read at or before that instant.
func (c *Clock) replace(next func(l *line, monotonic int64) *line) {
	l := c.line.Swap(nil)
	c.line.Store(next(l, c.sources.Monotonic()))
}
