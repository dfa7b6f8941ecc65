package limiter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// The tests compare a key that gives units back with a replay: the key of the same takings at the same
// instants, each of as many units as were not given back, whatever the limit says.

// A givingKind is an algorithm whose keys give back.
type givingKind struct {
	name  string
	exact bool // a key that gave back answers as its replay, and several times for one taking
	mixed bool // takings differ in their windows
	fresh func(q Quota) State
	copy  func(s State) State
}

var givingKinds = []givingKind{
	{
		name: "FIXED", exact: true,
		fresh: func(Quota) State { return &Fixed{} },
		copy:  func(s State) State { c := *s.(*Fixed); return &c },
	},
	{
		name: "FIXED, windows", mixed: true,
		fresh: func(Quota) State { return &Fixed{} },
		copy:  func(s State) State { c := *s.(*Fixed); return &c },
	},
	{
		name:  "GCRA",
		fresh: func(q Quota) State { return &GCRA{Burst: q.Limit} },
		copy:  func(s State) State { c := *s.(*GCRA); return &c },
	},
	{
		name: "GCRA, windows", mixed: true,
		fresh: func(q Quota) State { return &GCRA{Burst: q.Limit} },
		copy:  func(s State) State { c := *s.(*GCRA); return &c },
	},
	{
		name: "BUCKETS", exact: true,
		fresh: func(q Quota) State {
			const n = 5
			return &Buckets{WidthMs: BucketWidth(q.WindowMs, n), N: n, Counts: make([]int64, 0, n+1)}
		},
		copy: func(s State) State {
			c := *s.(*Buckets)
			c.Counts = append(make([]int64, 0, c.N+1), c.Counts...)
			return &c
		},
	},
	{
		name: "COUNTER", exact: true,
		fresh: func(q Quota) State { return &Counter{WindowMs: q.WindowMs} },
		copy:  func(s State) State { c := *s.(*Counter); return &c },
	},
}

// A givingFault replaces a function of a State by a wrong one, if it is not nil.
type givingFault struct {
	kind     string
	heldOf   func(s State, nowMs, expireAtMs int64, t Taking) int64
	giveBack func(s State, nowMs, expireAtMs int64, t Taking, n int64) int64
}

// A givingKey is a key with expiry as in the store.
type givingKey struct {
	*givingKind
	s          State
	expireAtMs int64
}

func newGivingKey(kind *givingKind, q Quota) *givingKey { return &givingKey{kind, kind.fresh(q), 0} }

func (k *givingKey) copyOf() *givingKey { return &givingKey{k.givingKind, k.copy(k.s), k.expireAtMs} }

// vanish makes the key absent if it has expired.
func (k *givingKey) vanish(nowMs int64, q Quota) {
	if k.expireAtMs == gone || k.expireAtMs > 0 && nowMs > k.expireAtMs {
		k.s, k.expireAtMs = k.fresh(q), 0
	}
}

// take takes units, whatever the limit says.
func (k *givingKey) take(nowMs int64, q Quota, units int64) Taking {
	k.vanish(nowMs, q)
	d, err := k.s.Record(nowMs, k.expireAtMs, q, units)
	if err != nil {
		panic(err)
	}
	return k.apply(nowMs, &d)
}

func (k *givingKey) apply(nowMs int64, d *Decision) Taking {
	k.s.Apply(nowMs, d)
	k.expireAtMs = d.ExpireAtMs
	return Taking{per(d.Limit, d.WindowMs), d.Units, d.Place()}
}

// room returns what a key has left for a quota.
func (k *givingKey) room(nowMs int64, q Quota) Decision {
	c := k.copyOf()
	c.vanish(nowMs, q)
	if g, ok := c.s.(*GCRA); ok {
		g.Burst = q.Limit
	}
	return c.s.Decide(nowMs, c.expireAtMs, q, Call{Cost: q.Limit, AtMost: true, Peek: true})
}

// A given is a taking in a history, with how many of its units were given back.
type given struct {
	Taking
	atMs  int64
	units int64 // taken, given back or not
}

// A giving plays a history.
type giving struct {
	key    *givingKey
	fault  givingFault
	rng    *rand.Rand
	quotas []Quota
	nowMs  int64
	all    []given
	gave   int // times
}

func (g *giving) replay() *givingKey {
	k := newGivingKey(g.key.givingKind, g.quotas[0])
	for _, t := range g.all {
		if t.Units > 0 {
			k.take(t.atMs, t.Quota, t.Units)
		}
	}
	return k
}

// difference describes an instant from now on at which the key is more generous than another, or, if they
// must be equal, answers otherwise.
func (g *giving) difference(other *givingKey, equal bool) string {
	for _, q := range g.quotas {
		w := q.WindowMs
		for _, laterMs := range []int64{
			0, 1, w / 5, w / 3, w/2 + 1, w - g.nowMs%w - 1, w - g.nowMs%w, w, w + w/5,
			2*w - g.nowMs%w, 2 * w, 3 * w,
		} {
			key, want := g.key.room(g.nowMs+laterMs, q), other.room(g.nowMs+laterMs, q)
			if key.Used < want.Used || key.Allowed > want.Allowed ||
				equal && (key.Used != want.Used || key.RetryAfterMs != want.RetryAfterMs) {
				return fmt.Sprintf("in %d ms: %+v, want %+v", laterMs, key, want)
			}
		}
	}
	return ""
}

func (g *giving) take() (fault string) {
	q := g.quotas[g.rng.IntN(len(g.quotas))]
	g.key.vanish(g.nowMs, q)
	if gcra, ok := g.key.s.(*GCRA); ok {
		gcra.Burst = q.Limit
	}
	n := 1 + g.rng.Int64N(q.Limit)
	before := g.key.copyOf()
	var t Taking
	if g.rng.IntN(5) == 0 {
		t = g.key.take(g.nowMs, q, n)
	} else {
		d := g.key.s.Decide(g.nowMs, g.key.expireAtMs, q, Call{Cost: n})
		if d.Units == 0 {
			return ""
		}
		t = g.key.apply(g.nowMs, &d)
	}
	if g.rng.IntN(3) > 0 {
		g.all = append(g.all, given{t, g.nowMs, t.Units})
		return ""
	}
	// At once all can be given back.
	if held := g.heldOf(t); held != n {
		return fmt.Sprintf("at once %d of %d are held", held, n)
	}
	g.giveBack(t, n)
	return g.difference(before, len(g.quotas) == 1)
}

func (g *giving) heldOf(t Taking) int64 {
	if g.fault.heldOf != nil {
		return g.fault.heldOf(g.key.s, g.nowMs, g.key.expireAtMs, t)
	}
	return g.key.s.HeldOf(g.nowMs, g.key.expireAtMs, t)
}

func (g *giving) giveBack(t Taking, n int64) {
	if g.fault.giveBack != nil {
		g.key.expireAtMs = g.fault.giveBack(g.key.s, g.nowMs, g.key.expireAtMs, t, n)
	} else {
		g.key.expireAtMs = g.key.s.GiveBack(g.nowMs, g.key.expireAtMs, t, n)
	}
}

// give gives back an earlier taking, or a part of it.
func (g *giving) give() (fault string) {
	if len(g.all) == 0 {
		return ""
	}
	g.key.vanish(g.nowMs, g.quotas[0])
	i := g.rng.IntN(len(g.all))
	t := &g.all[i]
	held := g.heldOf(t.Taking)
	if held > t.Units || held < 0 {
		return fmt.Sprintf("%d of %d units are held", held, t.Units)
	}
	if held == 0 || !g.key.exact && t.Units < t.units {
		return ""
	}
	n := held
	if g.rng.IntN(3) == 0 {
		n = 1 + g.rng.Int64N(held)
	}
	before := g.key.room(g.nowMs, g.quotas[0]).Used
	g.giveBack(t.Taking, n)
	t.Units -= n
	g.gave++
	if _, fixed := g.key.s.(*Fixed); fixed && before-g.key.room(g.nowMs, g.quotas[0]).Used != n {
		return fmt.Sprintf("gives back otherwise than %d units", n)
	}
	return ""
}

func (g *giving) move() {
	w := g.quotas[0].WindowMs
	switch g.rng.IntN(8) {
	case 0:
		g.nowMs += g.rng.Int64N(w + 1)
	case 1:
		g.nowMs += w - g.nowMs%w - g.rng.Int64N(2)
	case 2, 3:
		g.nowMs += g.rng.Int64N(w/5 + 1)
	}
}

// newGiving returns a history to play.
func newGiving(kind *givingKind, fault givingFault, seed uint64) *giving {
	rng := rand.New(rand.NewPCG(seed, 11))
	q := per(1+rng.Int64N(20), []int64{5, 100, 1000, 60_000}[rng.IntN(4)])
	g := &giving{newGivingKey(kind, q), fault, rng, []Quota{q}, startMs, nil, 0}
	if kind.mixed {
		g.quotas = append(g.quotas,
			per(1+rng.Int64N(20), 3*q.WindowMs), per(q.Limit, q.WindowMs/2+1))
	}
	return g
}

// play plays a history and describes the first broken promise.
func (g *giving) play() (fault string) {
	for i := range 40 {
		g.move()
		if g.rng.IntN(5) < 3 {
			fault = g.take()
		} else {
			fault = g.give()
		}
		if fault == "" {
			fault = g.difference(g.replay(), g.key.exact)
		}
		if fault != "" {
			return fmt.Sprintf("step %d: %s", i, fault)
		}
	}
	return ""
}

// TestGivingBack checks that a key that gave units back is at no instant more generous than if they had not
// been taken.
func TestGivingBack(t *testing.T) {
	for i := range givingKinds {
		kind := &givingKinds[i]
		t.Run(kind.name, func(t *testing.T) {
			gave := 0
			for seed := range uint64(race.Fewer(400)) {
				g := newGiving(kind, givingFault{}, seed)
				require.Empty(t, g.play(), "seed %d", seed)
				gave += g.gave
			}
			require.Greater(t, gave, race.Fewer(1000))
		})
	}
}

// TestGivingBackDetectsFaults checks that the test notices mistakes.
func TestGivingBackDetectsFaults(t *testing.T) {
	for name, fault := range map[string]givingFault{
		"FIXED of another slice": {kind: "FIXED", heldOf: func(
			s State, nowMs, expireAtMs int64, t Taking,
		) int64 {
			return min(t.Units, s.(*Fixed).Used(nowMs, expireAtMs))
		}},
		"FIXED one more": {kind: "FIXED", giveBack: func(
			s State, nowMs, expireAtMs int64, t Taking, n int64,
		) int64 {
			return s.GiveBack(nowMs, expireAtMs, t, min(n+1, s.(*Fixed).Count))
		}},
		"FIXED ends at once": {kind: "FIXED", giveBack: func(State, int64, int64, Taking, int64) int64 {
			return gone
		}},
		"GCRA by whole intervals": {kind: "GCRA", giveBack: func(
			s State, nowMs, _ int64, t Taking, n int64,
		) int64 {
			g := s.(*GCRA)
			g.TatUs -= n * t.Interval()
			return max(gone, nowMs+ceil(g.ahead(nowMs, 0), usPerMs))
		}},
		"GCRA up to now": {kind: "GCRA", giveBack: func(
			s State, nowMs, expireAtMs int64, t Taking, n int64,
		) int64 {
			t.Place = s.(*GCRA).TatUs
			return s.GiveBack(nowMs, expireAtMs, t, n)
		}},
		"GCRA a microsecond more": {kind: "GCRA", giveBack: func(
			s State, nowMs, expireAtMs int64, t Taking, n int64,
		) int64 {
			expireAtMs = s.GiveBack(nowMs, expireAtMs, t, n)
			s.(*GCRA).TatUs--
			return expireAtMs
		}},
		"BUCKETS the newest": {kind: "BUCKETS", heldOf: func(
			s State, nowMs, expireAtMs int64, t Taking,
		) int64 {
			t.Place = s.(*Buckets).NewestMs
			return s.HeldOf(nowMs, expireAtMs, t)
		}, giveBack: func(s State, nowMs, expireAtMs int64, t Taking, n int64) int64 {
			t.Place = s.(*Buckets).NewestMs
			return s.GiveBack(nowMs, expireAtMs, t, n)
		}},
		"BUCKETS keep no time": {kind: "BUCKETS", giveBack: func(
			s State, nowMs, expireAtMs int64, t Taking, n int64,
		) int64 {
			if s.GiveBack(nowMs, expireAtMs, t, n) == gone {
				return gone
			}
			return s.(*Buckets).Newest()
		}},
		"BUCKETS that have left": {kind: "BUCKETS", heldOf: func(s State, _, _ int64, t Taking) int64 {
			if i := s.(*Buckets).index(t.Place); i < 0 {
				return 0
			}
			return t.Units
		}, giveBack: func(s State, nowMs, expireAtMs int64, t Taking, n int64) int64 {
			if b := s.(*Buckets); b.wait(b.index(t.Place), nowMs, b.N*b.WidthMs) <= 0 {
				t.Place = b.NewestMs
				n = min(n, b.Counts[0])
			}
			return s.GiveBack(nowMs, expireAtMs, t, n)
		}},
		"COUNTER the newest slice": {kind: "COUNTER", giveBack: func(
			s State, nowMs, expireAtMs int64, t Taking, n int64,
		) int64 {
			c := s.(*Counter)
			t.Place = c.BeginMs
			return s.GiveBack(nowMs, expireAtMs, t, min(n, c.Count))
		}},
		"COUNTER a slice that has left": {kind: "COUNTER", heldOf: func(
			s State, nowMs, expireAtMs int64, t Taking,
		) int64 {
			t.Place = max(t.Place, s.(*Counter).BeginMs-t.WindowMs)
			return s.HeldOf(nowMs, expireAtMs, t)
		}, giveBack: func(s State, nowMs, expireAtMs int64, t Taking, n int64) int64 {
			t.Place = max(t.Place, s.(*Counter).BeginMs-t.WindowMs)
			return s.GiveBack(nowMs, expireAtMs, t, n)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(givingKinds, func(k givingKind) bool { return k.name == fault.kind })
			kind := &givingKinds[at]
			for seed := range uint64(400) {
				if broken := newGiving(kind, fault, seed).play(); broken != "" {
					t.Logf("seed %d %s", seed, broken)
					return
				}
			}
			require.Fail(t, "the test does not see it")
		})
	}
}
