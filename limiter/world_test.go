package limiter

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// scores is the simplest Log, of entries of one unit.
type scores []int64

func (s scores) Len() int                { return len(s) }
func (s scores) Units() int64            { return int64(len(s)) }
func (s scores) UnitAt(rank int64) int64 { return s[rank] }
func (s scores) Oldest() int64           { return s[0] }
func (s scores) Newest() int64           { return s[len(s)-1] }
func (s scores) UnitsAfter(score int64) int64 {
	above, found := slices.BinarySearch(s, score)
	if found {
		above++
	}
	return int64(len(s) - above)
}

// entry is a score with units.
type entry struct{ score, units int64 }

// entries is a Log that adds units up each time.
type entries []entry

func (e entries) Len() int      { return len(e) }
func (e entries) Oldest() int64 { return e[0].score }
func (e entries) Newest() int64 { return e[len(e)-1].score }
func (e entries) Units() int64  { return e.UnitsAfter(math.MinInt64) }
func (e entries) UnitsAfter(score int64) (units int64) {
	for _, x := range e {
		if x.score > score {
			units += x.units
		}
	}
	return units
}

func (e entries) UnitAt(rank int64) int64 {
	i := 0
	for rank >= e[i].units {
		rank -= e[i].units
		i++
	}
	return e[i].score
}

// decideFn is the signature of Decide, so that planted faults can replace it.
type decideFn func(log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64) (Decision, error)

// world is one key under a decision function, with expiry as in the store.
type world struct {
	decide     decideFn
	units      entries
	expireAtMs int64
}

func (w *world) vanish(nowMs int64) (gone bool) {
	if w.expireAtMs > 0 && nowMs > w.expireAtMs {
		w.units, w.expireAtMs = nil, 0
		return true
	}
	return false
}

func (w *world) log() Log {
	if len(w.units) == 0 {
		return nil
	}
	return w.units
}

// call decides and applies the change.
func (w *world) call(t *testing.T, nowMs int64, quotas []Quota, cost int64) Decision {
	t.Helper()
	w.vanish(nowMs)
	d, err := w.decide(w.log(), nowMs, w.expireAtMs, quotas, cost)
	require.NoError(t, err)
	if d.Units == 0 {
		require.Zero(t, d.Score)
		require.Zero(t, d.DropThrough)
		require.Zero(t, d.ExpireAtMs)
		return d
	}
	require.Equal(t, d.Allowed, d.Units)
	w.carryOut(d.Change)
	return d
}

// carryOut applies a change.
func (w *world) carryOut(c Change) {
	keep := 0
	for keep < len(w.units) && w.units[keep].score <= c.DropThrough {
		keep++
	}
	w.units = w.units[keep:]
	// A faulty decision may name a score that is held, and not the newest: then the units
	// merge, as in a sorted set.
	at, held := slices.BinarySearchFunc(w.units, c.Score, func(x entry, score int64) int {
		return cmp.Compare(x.score, score)
	})
	switch {
	case !held:
		w.units = slices.Insert(w.units, at, entry{c.Score, c.Units})
	case at == len(w.units)-1:
		w.units = slices.Clone(w.units)
		w.units[at].units += c.Units
	}
	w.expireAtMs = c.ExpireAtMs
}

// clone returns a copy for "what if" questions.
func (w *world) clone() *world {
	c := *w
	c.units = slices.Clone(w.units)
	return &c
}

// naming is an admission that named a longer window than any before it.
type naming struct {
	windowMs  int64
	admission int
}

// admission is the oracle's record of an admitted call: its instant, by the latest
// instant that the clock has shown, and its units.
type admission struct {
	atMs, units int64
}

// oracle observes admissions only, without scores, logs or trimming. It keeps every
// admission as long as the key lives.
type oracle struct {
	latestMs   int64
	admissions []admission
	named      []naming
}

func (o *oracle) forget() { *o = oracle{} }

// admit records an admission and returns the first quota that it breaks.
func (o *oracle) admit(nowMs int64, quotas []Quota, units int64) (broken *Quota, total int64) {
	if len(o.admissions) == 0 {
		o.latestMs = nowMs
	}
	o.latestMs = max(o.latestMs, nowMs)
	o.admissions = append(o.admissions, admission{o.latestMs, units})
	longest := int64(0)
	for _, q := range quotas {
		longest = max(longest, q.WindowMs)
	}
	if n := len(o.named); n == 0 || longest > o.named[n-1].windowMs {
		o.named = append(o.named, naming{longest, len(o.admissions) - 1})
	}
	for i, q := range quotas {
		total := int64(0)
		for _, a := range o.admissions[o.firstCovering(q.WindowMs):] {
			if a.atMs > o.latestMs-q.WindowMs {
				total += a.units
			}
		}
		if total > q.Limit {
			return &quotas[i], total
		}
	}
	return nil, 0
}

// firstCovering returns the first admission that named this window or a longer one. The
// promise holds from then on.
func (o *oracle) firstCovering(windowMs int64) int {
	for _, n := range o.named {
		if n.windowMs >= windowMs {
			return n.admission
		}
	}
	panic("the call itself names it")
}

// per returns the quota of so many units in ms milliseconds.
func per(limit, ms int64) Quota { return Quota{Limit: limit, WindowMs: ms} }
