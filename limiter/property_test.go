package limiter

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// plan holds the random choices of a history: the quotas, the clock's moves, the costs.
type plan struct {
	rng      *rand.Rand
	pool     []Quota
	maxCost  int64
	mostStep int64
	back     bool // the clock may step back
	several  bool // calls may carry several quotas
}

func newPlan(choices rand.Source) *plan {
	p := &plan{rng: rand.New(choices)}
	windows := [][]int64{{1, 2, 3}, {5, 10, 50}, {100, 1000, 3000}, {1, 10, 1000}}[p.rng.IntN(4)]
	limits := []int64{1, 2, 3, 7, 20}
	if p.rng.IntN(4) == 0 {
		limits = []int64{900, 1500, 3000, MaxUnits / 4} // more than a millisecond has scores
	}
	for range 1 + p.rng.IntN(4) {
		w := windows[p.rng.IntN(len(windows))]
		l := limits[p.rng.IntN(len(limits))]
		p.maxCost = max(p.maxCost, l)
		if p.rng.IntN(12) == 0 {
			l = 0
		}
		p.pool = append(p.pool, per(l, w))
		p.mostStep = max(p.mostStep, w)
	}
	p.back, p.several = p.rng.IntN(2) == 0, p.rng.IntN(2) == 0
	return p
}

func (p *plan) step() int64 {
	switch p.rng.IntN(10) {
	case 0, 1, 2, 3:
		return 0
	case 4, 5:
		return 1 + p.rng.Int64N(3)
	case 6:
		return p.mostStep
	case 7:
		return p.rng.Int64N(3*p.mostStep + 1)
	default:
		if p.back {
			return -p.rng.Int64N(2*p.mostStep + 1)
		}
		return p.rng.Int64N(p.mostStep + 1)
	}
}

func (p *plan) quotas() []Quota {
	n := 1
	if p.several {
		n += p.rng.IntN(3)
	}
	quotas := make([]Quota, n)
	for i := range quotas {
		quotas[i] = p.pool[p.rng.IntN(len(p.pool))]
	}
	return quotas
}

func (p *plan) cost() int64 {
	switch p.rng.IntN(6) {
	case 0:
		return 1 + p.rng.Int64N(p.maxCost+1)
	case 1:
		return 0
	}
	return 1 + p.rng.Int64N(1+p.maxCost/8)
}

const calls = 250

// overAdmits plays a history and describes the first broken promise.
func overAdmits(t *testing.T, decide decideFn, choices rand.Source) (fault string) {
	t.Helper()
	p := newPlan(choices)
	w := &world{decide: decide}
	var o oracle
	nowMs := int64(1_700_000_000_000)
	for i := range calls {
		nowMs += p.step()
		quotas, cost := p.quotas(), p.cost()
		if w.vanish(nowMs) {
			o.forget()
		}
		if d := w.call(t, nowMs, quotas, cost); d.Units > 0 {
			if q, total := o.admit(nowMs, quotas, d.Units); q != nil {
				return fmt.Sprintf("call %d: %d units in %d ms, limit %d", i, total, q.WindowMs, q.Limit)
			}
		}
	}
	return ""
}

func TestNeverMoreThanLimitInAnyWindow(t *testing.T) {
	for seed := range uint64(race.Fewer(400)) {
		require.Empty(t, overAdmits(t, Decide, rand.NewPCG(seed, 99)), "seed %d", seed)
	}
}

// tape turns the fuzzer's bytes into the choices of a history. When they end, a
// generator takes over.
type tape struct {
	data []byte
	rest *rand.PCG
}

func (c *tape) Uint64() uint64 {
	if len(c.data) == 0 {
		return c.rest.Uint64()
	}
	// rand uses the upper bits.
	b := c.data[0]
	c.data = c.data[1:]
	return uint64(b) * 0x0101010101010101
}

func FuzzNeverMoreThanLimit(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("any bytes are a history"))
	f.Fuzz(func(t *testing.T, data []byte) {
		require.Empty(t, overAdmits(t, Decide, &tape{data, rand.NewPCG(1, 2)}))
	})
}

// withoutAhead returns the log without the units ahead of the clock.
func withoutAhead(log Log, nowMs int64) Log {
	if log == nil {
		return nil
	}
	var kept entries
	for _, s := range log.(entries) {
		if msOf(s.score) <= nowMs {
			kept = append(kept, s)
		}
	}
	return kept
}

// TestPropertyDetectsFaults checks that the property notices each of the known
// mistakes of limiters.
func TestPropertyDetectsFaults(t *testing.T) {
	// A fault changes each quota, or what is decided.
	type fault struct {
		quota    func(q Quota) Quota
		decision func(d *Decision, nowMs int64, first Quota)
	}
	decisions := map[string]decideFn{
		"units ahead of the clock do not count": func(
			log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64,
		) (Decision, error) {
			d, err := Decide(withoutAhead(log, nowMs), nowMs, expireAtMs, quotas, cost)
			if d.Units > 0 && log != nil {
				d.Score = max(d.Score, log.Newest()+1)
			}
			return d, err
		},
		"only the first quota is asked": func(
			log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64,
		) (Decision, error) {
			return Decide(log, nowMs, expireAtMs, quotas[:1], cost)
		},
	}
	for name, f := range map[string]fault{
		"one above the limit": {quota: func(q Quota) Quota { q.Limit++; return q }},
		"a window 1 ms short": {quota: func(q Quota) Quota { q.WindowMs--; return q }},
		"hits of one instant merge": {decision: func(d *Decision, nowMs int64, _ Quota) {
			d.Score = nowMs * entriesPerMs
		}},
		"a short window trims what a long one needs": {decision: func(d *Decision, nowMs int64, first Quota) {
			d.DropThrough = (nowMs-first.WindowMs+1)*entriesPerMs - 1
		}},
		"a short window shortens the expiry": {decision: func(d *Decision, nowMs int64, first Quota) {
			d.ExpireAtMs = nowMs + first.WindowMs
		}},
		"a trim 1 ms too far": {
			decision: func(d *Decision, _ int64, _ Quota) { d.DropThrough += entriesPerMs },
		},
	} {
		decisions[name] = func(
			log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64,
		) (Decision, error) {
			changed := slices.Clone(quotas)
			for i := range changed {
				if f.quota != nil {
					changed[i] = f.quota(changed[i])
				}
			}
			d, err := Decide(log, nowMs, expireAtMs, changed, cost)
			if d.Units > 0 && f.decision != nil {
				f.decision(&d, nowMs, quotas[0])
			}
			return d, err
		}
	}
	for name, decide := range decisions {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(1500) {
				if fault := overAdmits(t, decide, rand.NewPCG(seed, 99)); fault != "" {
					t.Logf("seed %d %s", seed, fault)
					return
				}
			}
			require.Fail(t, "the property does not see it")
		})
	}
}

// TestAnswersAreExact checks every answer against the same key's answers at other
// instants.
func TestAnswersAreExact(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(30) {
		p := newPlan(rand.NewPCG(seed, 99))
		w := &world{decide: Decide}
		nowMs := int64(1_700_000_000_000)
		for i := range calls {
			nowMs += p.step()
			quotas, cost := p.quotas(), p.cost()
			if p.rng.IntN(25) == 0 && len(w.units) > 0 { // a user's PEXPIREAT or PERSIST
				w.expireAtMs = max(0, nowMs+p.rng.Int64N(2*p.mostStep)-2)
			}
			w.vanish(nowMs)
			before := w.clone()
			peek, err := Peek(before.log(), nowMs, before.expireAtMs, quotas, cost)
			require.NoError(t, err)
			d := w.call(t, nowMs, quotas, cost)
			at := fmt.Sprintf("seed %d call %d", seed, i)

			require.Equal(t, worst(t, before, nowMs, quotas, max(cost, 1)), peek, at)
			require.Equal(t, peek.Allowed, d.Allowed, at)
			require.Equal(t, peek.RetryAfterMs, d.RetryAfterMs, at)
			require.Equal(t, peek.Limit, d.Limit, at)
			require.GreaterOrEqual(t, d.Remaining, int64(0), at)
			require.Zero(t, peek.Units, at)
			if d.Allowed == 0 || cost == 0 {
				require.Equal(t, before.units, w.units, at)
				require.Equal(t, before.expireAtMs, w.expireAtMs, at)
				require.Equal(t, peek, d, at)
			} else {
				require.Equal(t, peek.Remaining-cost, d.Remaining, at)
				require.GreaterOrEqual(t, w.expireAtMs, before.expireAtMs, at)
			}
			kinds[checkWaits(t, at, w, nowMs, quotas, max(cost, 1), d)]++
		}
	}
	for _, kind := range []string{"allowed", "wait", "never"} {
		require.Greater(t, kinds[kind], 300, "%v", kinds)
	}
}

// worst asks each quota alone and picks the binding answer as RL.ALLOW defines it: one
// that never fits, then the longest wait, then the least remaining, then the first.
func worst(t *testing.T, w *world, nowMs int64, quotas []Quota, cost int64) Decision {
	t.Helper()
	answers := make([]Decision, len(quotas))
	for i := range quotas {
		var err error
		answers[i], err = Peek(w.log(), nowMs, w.expireAtMs, quotas[i:i+1], cost)
		require.NoError(t, err)
	}
	rank := func(d Decision) int64 {
		if d.RetryAfterMs == -1 {
			return math.MaxInt64
		}
		return d.RetryAfterMs
	}
	slices.SortStableFunc(answers, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Remaining, b.Remaining))
	})
	return answers[0]
}

// checkWaits checks RetryAfterMs and ResetAfterMs to the millisecond.
func checkWaits(
	t *testing.T, at string, w *world, nowMs int64, quotas []Quota, cost int64, d Decision,
) (kind string) {
	t.Helper()
	ask := func(laterMs int64) Decision {
		return w.clone().call(t, nowMs+laterMs, quotas, cost)
	}
	switch {
	case d.RetryAfterMs == 0:
		kind = "allowed"
		require.Equal(t, cost, d.Allowed, at)
	case d.RetryAfterMs < 0:
		kind = "never"
		require.Equal(t, int64(-1), d.RetryAfterMs, at)
		require.Zero(t, d.Allowed, at)
		require.Zero(t, ask(1_000_000).Allowed, at)
	default:
		kind = "wait"
		require.Zero(t, d.Allowed, at)
		require.Equal(t, cost, ask(d.RetryAfterMs).Allowed, at)
		require.Zero(t, ask(d.RetryAfterMs-1).Allowed, at)
	}

	// The answer's binding quota alone is empty at reset and not before. Quotas of one
	// limit may differ in their windows, so any of them may be it.
	found := false
	for _, q := range quotas {
		if q.Limit != d.Limit {
			continue
		}
		used := func(laterMs int64) int64 {
			c := w.clone()
			c.vanish(nowMs + laterMs)
			p, err := Peek(c.log(), nowMs+laterMs, c.expireAtMs, []Quota{q}, 1)
			require.NoError(t, err)
			return p.Used
		}
		if used(0) == d.Used && used(d.ResetAfterMs) == 0 &&
			(d.ResetAfterMs == 0 || used(d.ResetAfterMs-1) > 0) {
			found = true
			require.Equal(t, max(0, q.Limit-d.Used), d.Remaining, at)
		}
	}
	require.True(t, found, at)
	return kind
}

// TestIsTheIdealSlidingWindow checks that with a clock that never steps back the log is the ideal sliding
// window by the true instants of admission: it admits neither too much nor too little.
func TestIsTheIdealSlidingWindow(t *testing.T) {
	for seed := range uint64(race.Fewer(100)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		q := per(1+rng.Int64N(900)<<rng.IntN(40), []int64{1, 10, 100, 1000}[rng.IntN(4)])
		w := &world{decide: Decide}
		var admitted []admission
		nowMs := int64(1_700_000_000_000)
		for range calls {
			nowMs += max(0, rng.Int64N(q.WindowMs+2)-q.WindowMs/2)
			cost := 1 + rng.Int64N(q.Limit)
			inWindow := int64(0)
			for _, a := range admitted {
				if a.atMs > nowMs-q.WindowMs {
					inWindow += a.units
				}
			}
			d := w.call(t, nowMs, []Quota{q}, cost)
			require.Equal(t, inWindow+cost <= q.Limit, d.Allowed > 0, "seed %d", seed)
			if d.Allowed > 0 {
				admitted = append(admitted, admission{nowMs, cost})
				require.Equal(t, inWindow+cost, d.Used)
			} else {
				require.Equal(t, inWindow, d.Used)
			}
		}
	}
}

// TestHeldIsBounded checks that the log holds only what its windows need: units older
// than keep leave with the next admitted call.
func TestHeldIsBounded(t *testing.T) {
	w := &world{decide: Decide}
	q := []Quota{per(10, 1000)}
	nowMs := int64(1_700_000_000_000)
	for range 10_000 {
		nowMs += 137
		w.call(t, nowMs, q, 1)
		require.LessOrEqual(t, len(w.units), 10)
		require.LessOrEqual(t, w.expireAtMs, nowMs+1000)
	}
	require.True(t, w.vanish(math.MaxInt64))
}
