package clock

// A line is the clock from one change to the next: half speed for the first
// slowUs microseconds, then real time. It does not change.
type line struct {
	monotonic int64 // the monotonic instant at which it begins
	nowUs     int64 // the clock at that instant
	slowUs    int64 // twice what the clock is ahead of the wall there
	frozen    bool  // it stays at nowUs
}

// meeting returns the line that begins at nowUs and meets a wall that is behind
// it; a wall that is ahead it meets at once.
func newLine(monotonic, nowUs, wallUs int64) *line {
	return &line{monotonic: monotonic, nowUs: max(nowUs, wallUs), slowUs: 2 * max(nowUs-wallUs, 0)}
}

// at returns the clock at a monotonic instant that is not before the line's
// beginning. It never falls: each microsecond adds one or, at half speed, every
// second one does.
func (l *line) at(monotonic int64) int64 {
	if l.frozen {
		return l.nowUs
	}
	elapsed := monotonic - l.monotonic
	return l.nowUs + elapsed - min(elapsed, l.slowUs)/2
}

// offset is what the clock shows above the monotonic source once the line runs
// in real time: where the line expects the wall to be.
func (l *line) offset() int64 { return l.nowUs - l.slowUs/2 - l.monotonic }

// ahead is how far the clock is ahead of where the line expects the wall to be.
func (l *line) ahead(monotonic int64) int64 {
	return l.slowUs/2 - min(monotonic-l.monotonic, l.slowUs)/2
}

// A distance is the range in which the wall's distance from the monotonic source
// lies, cuts apart: the wall was read between two monotonic readings.
type offsetRange struct{ low, high int64 }

const (
	// cutUs is what cutting both readings to microseconds may add to a distance.
	roundingUs = 1
	// narrowUs is a range that is good enough. Reading takes a fraction of a
	// microsecond, unless the goroutine is preempted meanwhile.
	narrowEnoughUs = 20
	// tries is how often the sources are read for a narrow range.
	maxReadings = 8
)

// compare reads the sources a few times, and returns the narrowest range.
func (c *Clock) measureOffset() (best offsetRange) {
	for i := range maxReadings {
		before := c.sources.Monotonic()
		wallUs := c.sources.Wall()
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
