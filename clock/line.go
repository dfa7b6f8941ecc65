package clock

// A line is the clock between two changes: half speed for the first slowUs
// microseconds, then real time. It is immutable.
type line struct {
	monotonic int64 // the monotonic instant of its start
	nowUs     int64 // the clock at its start
	slowUs    int64 // twice what the clock is ahead of the wall at its start
	frozen    bool  // the clock stays at nowUs
}

// newLine returns a line that starts at nowUs and meets a wall clock that is behind
// it. It starts at wallUs if that is later.
func newLine(monotonic, nowUs, wallUs int64) *line {
	return &line{monotonic: monotonic, nowUs: max(nowUs, wallUs), slowUs: 2 * max(nowUs-wallUs, 0)}
}

// at returns the clock at a monotonic instant, which is not before the line's
// start. It never decreases: each microsecond adds one, or at half speed every
// second one.
func (l *line) at(monotonic int64) int64 {
	if l.frozen {
		return l.nowUs
	}
	elapsed := monotonic - l.monotonic
	return l.nowUs + elapsed - min(elapsed, l.slowUs)/2
}

// offset returns the clock minus the monotonic source once the line runs in real
// time, which is the expected offset of the wall clock.
func (l *line) offset() int64 { return l.nowUs - l.slowUs/2 - l.monotonic }

// ahead returns how far the clock is ahead of the expected wall clock.
func (l *line) ahead(monotonic int64) int64 {
	return l.slowUs/2 - min(monotonic-l.monotonic, l.slowUs)/2
}

// An offsetRange is the range of the wall clock's offset from the monotonic source,
// apart from rounding: the wall was read between two monotonic readings.
type offsetRange struct{ low, high int64 }

const (
	// roundingUs is what truncating both readings to microseconds may add to an
	// offset.
	roundingUs = 1
	// narrowEnoughUs is a sufficient range. Reading takes a fraction of a
	// microsecond, unless the goroutine is preempted.
	narrowEnoughUs = 20
	// maxReadings is how often the sources are read to get a narrow range.
	maxReadings = 8
)

// measureOffset reads the sources a few times and returns the narrowest range of the
// wall clock as Align has moved it. It requires that mu is held.
func (c *Clock) measureOffset() (best offsetRange) {
	for i := range maxReadings {
		before := c.sources.Monotonic()
		wallUs := c.sources.Wall() + c.shiftUs
		after := c.sources.Monotonic()
		r := offsetRange{wallUs - after, wallUs - before}
		if i == 0 || r.high-r.low < best.high-best.low {
			best = r
		}
		if best.high-best.low <= narrowEnoughUs {
			break
		}
	}
	return best
}
