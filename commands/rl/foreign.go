package rl

import (
	"math"
	"sort"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/store/zset"
)

// Limiters written as scripts keep a sorted set with a member for each hit, scored with
// its unix time. RL.EXPLAIN recognizes the unit of the time by its magnitude: scores of
// the years 1973 to 2255, the range of a log, are in ranges that do not overlap for
// seconds, milliseconds, microseconds and nanoseconds.

// A scoreUnit is the unit of a time as a score.
type scoreUnit struct {
	name          string
	toUs, divided float64 // microseconds are score*toUs/divided
}

var scoreUnits = []scoreUnit{
	{"s", 1_000_000, 1},
	{"ms", 1_000, 1},
	{"us", 1, 1},
	{"ns", 1, 1_000},
}

// scoreUnitOf returns the unit of a set's scores, or nil if it is not recognized. set may
// be nil.
func scoreUnitOf(set *zset.Set) *scoreUnit {
	if set == nil || set.Len() == 0 {
		return nil
	}
	oldest, newest := set.ScoreAt(0), set.ScoreAt(set.Len()-1)
	for i := range scoreUnits {
		if u := &scoreUnits[i]; u.fits(oldest) && u.fits(newest) {
			return u
		}
	}
	return nil
}

// fits reports whether a time in the unit is in the range of a log's.
func (u *scoreUnit) fits(score float64) bool {
	us := u.us(score)
	return us >= float64(limiter.MinScore) && us < float64(limiter.MaxScore-limiter.MaxScore%1000)
}

// us returns a score in whole microseconds: of a fraction of a second a float64 holds
// about as much.
func (u *scoreUnit) us(score float64) float64 { return math.Round(score * u.toUs / u.divided) }

// unit returns the score that the hit would have in a log of RL.ALLOW. The hit leaves
// when the clock's millisecond is its time and the window, or later: a time between two
// milliseconds is rounded up.
func (u *scoreUnit) unit(score float64) int64 {
	return int64(math.Ceil(u.us(score)/1000)) * 1000
}

// A foreignLog is a sorted set of times as package limiter reads a log. Each member is an entry of one unit;
// scores need not be distinct.
type foreignLog struct {
	set  *zset.Set
	time *scoreUnit
}

func (l foreignLog) Len() int                { return l.set.Len() }
func (l foreignLog) Units() int64            { return int64(l.set.Len()) }
func (l foreignLog) UnitAt(rank int64) int64 { return l.time.unit(l.set.ScoreAt(int(rank))) }
func (l foreignLog) Oldest() int64           { return l.UnitAt(0) }
func (l foreignLog) Newest() int64           { return l.UnitAt(l.Units() - 1) }

// UnitsAfter searches by rank, so that rounding is the same as in UnitAt.
func (l foreignLog) UnitsAfter(score int64) int64 {
	n := l.Len()
	return int64(n - sort.Search(n, func(rank int) bool { return l.UnitAt(int64(rank)) > score }))
}
