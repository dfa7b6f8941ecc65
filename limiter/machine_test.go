package limiter

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// A machine is a key under one algorithm, with expiry as in the store.
type machine interface {
	// decide answers a call and applies the change.
	decide(nowMs int64, q Quota, call Call) Decision
	copyOf() machine
}

type logMachine struct{ world }

func (m *logMachine) decide(nowMs int64, q Quota, call Call) Decision {
	m.vanish(nowMs)
	d, err := DecideCall(m.log(), nowMs, m.expireAtMs, []Quota{q}, call)
	if err != nil {
		panic(err)
	}
	if d.Units > 0 {
		m.carryOut(d.Change)
	}
	d.NextAfterMs = NextAfter(m.log(), nowMs, m.expireAtMs, q)
	return d
}

func (m *logMachine) copyOf() machine { return &logMachine{*m.clone()} }

// stateMachine is a key of an algorithm that takes one quota.
type stateMachine[S any, P interface {
	*S
	State
}] struct {
	state      S
	expireAtMs int64
	last       Decision
	fresh      func(q Quota) S // the state of an absent key for a call
	cloned     func(S) S       // nil: copy by assignment
	valid      func(P) bool    // nil: every state is valid
}

func (m *stateMachine[S, P]) decide(nowMs int64, q Quota, call Call) Decision {
	if m.expireAtMs == 0 || nowMs > m.expireAtMs {
		m.state, m.expireAtMs = m.fresh(q), 0
	}
	m.last = P(&m.state).Decide(nowMs, m.expireAtMs, q, call)
	if m.last.Units > 0 {
		P(&m.state).Apply(nowMs, &m.last)
		m.expireAtMs = m.last.ExpireAtMs
		if m.valid != nil && !m.valid(&m.state) {
			panic(fmt.Sprintf("not a state: %+v", m.state))
		}
	}
	return m.last
}

func (m *stateMachine[S, P]) copyOf() machine {
	c := *m
	if m.cloned != nil {
		c.state = m.cloned(m.state)
	}
	return &c
}

func newFixed() machine {
	return &stateMachine[Fixed, *Fixed]{fresh: func(Quota) Fixed { return Fixed{} }}
}

// newGCRA uses the given burst, or the limit if it is 0.
func newGCRA(burst int64) machine {
	return &stateMachine[GCRA, *GCRA]{fresh: func(q Quota) GCRA {
		if burst == 0 {
			return GCRA{Burst: q.Limit}
		}
		return GCRA{Burst: burst}
	}}
}

func newBuckets(n int64) machine {
	counts := make([]int64, 0, n+1)
	return &stateMachine[Buckets, *Buckets]{
		fresh: func(q Quota) Buckets {
			return Buckets{WidthMs: BucketWidth(q.WindowMs, n), N: n, Counts: counts[:0]}
		},
		cloned: func(b Buckets) Buckets {
			b.Counts = append(make([]int64, 0, n+1), b.Counts...)
			return b
		},
		valid: func(b *Buckets) bool { return b.Valid() && b.Counts[len(b.Counts)-1] > 0 },
	}
}

func newCounter() machine {
	return &stateMachine[Counter, *Counter]{
		fresh: func(q Quota) Counter { return Counter{WindowMs: q.WindowMs} },
		valid: func(s *Counter) bool { return s.Valid() && s.Count > 0 },
	}
}

// machines lists the algorithms in the order of docs/worst-window.md.
var machines = []struct {
	name  string
	exact bool // never more than the limit in any window
	new   func() machine
}{
	{"LOG", true, func() machine { return &logMachine{} }},
	{"BUCKETS 1", true, func() machine { return newBuckets(1) }},
	{"BUCKETS 10", true, func() machine { return newBuckets(10) }},
	{"BUCKETS 60", true, func() machine { return newBuckets(60) }},
	{"COUNTER", false, newCounter},
	{"FIXED", false, newFixed},
	{"GCRA, burst = limit", false, func() machine { return newGCRA(0) }},
}

// history plays calls with random clock steps. It records admissions by the latest
// instant that the clock has shown.
type history struct {
	m          machine
	rng        *rand.Rand
	q          Quota
	nowMs      int64
	latestMs   int64
	admissions []admission
}

// motion is how the clock of a history moves.
type motion uint8

const (
	held motion = iota
	forwards
	anyway // also backwards
)

func newHistory(seed uint64, m machine) *history {
	h := &history{m: m, rng: rand.New(rand.NewPCG(seed, 7)), nowMs: startMs}
	h.q = per(1+h.rng.Int64N(20), []int64{1, 7, 100, 1000, 60_000}[h.rng.IntN(5)])
	h.q.Limit = min(h.q.Limit, h.q.WindowMs*entriesPerMs)
	return h
}

func (h *history) move(how motion) {
	switch h.rng.IntN(6) {
	case 0:
		h.nowMs += h.rng.Int64N(h.q.WindowMs + 1)
	case 1:
		h.nowMs += h.q.WindowMs - h.nowMs%h.q.WindowMs - h.rng.Int64N(2) // start of a slice, or before
	case 2:
		if how == anyway {
			h.nowMs -= h.rng.Int64N(2*h.q.WindowMs + 1)
		}
	case 3:
		h.nowMs += h.rng.Int64N(h.q.WindowMs/10 + 1)
	}
}

// admit records an admission and returns the true count of the window ending with it.
func (h *history) admit(units int64) (inWindow int64) {
	if len(h.admissions) == 0 {
		h.latestMs = h.nowMs
	}
	h.latestMs = max(h.latestMs, h.nowMs)
	h.admissions = append(h.admissions, admission{h.latestMs, units})
	for i := len(h.admissions) - 1; i >= 0 && h.admissions[i].atMs > h.latestMs-h.q.WindowMs; i-- {
		inWindow += h.admissions[i].units
	}
	return inWindow
}

func (h *history) call() Call {
	if h.rng.IntN(4) == 0 {
		return Call{Cost: h.q.Limit, AtMost: true} // everything left
	}
	return Call{Cost: 1 + h.rng.Int64N(1+h.q.Limit/2), AtMost: h.rng.IntN(3) == 0}
}

// TestDecisionsAreExact checks every algorithm. Waiting retry_after admits, and a
// millisecond less does not. At reset_after the window is empty, and before it is not.
// At next_after more remains, and before it does not. A peek or a denied call changes
// nothing. The next call obeys a changed limit.
func TestDecisionsAreExact(t *testing.T) {
	seeds := uint64(race.Fewer(40))
	if testing.Short() {
		seeds = 5
	}
	for _, kind := range machines {
		t.Run(kind.name, func(t *testing.T) {
			waits := 0
			for seed := range seeds {
				m := kind.new()
				h := newHistory(seed, m)
				for i := range 60 {
					h.move(anyway)
					call := h.call()
					at := fmt.Sprintf("seed %d call %d: %+v %+v", seed, i, h.q, call)
					asked := call
					asked.Peek = true
					before := m.copyOf()
					peek := m.decide(h.nowMs, h.q, asked)
					d := m.decide(h.nowMs, h.q, call)
					if peek.Allowed != d.Allowed || peek.RetryAfterMs != d.RetryAfterMs ||
						peek.Used+d.Units != d.Used || d.Remaining != max(0, h.q.Limit-d.Used) {
						require.Failf(t, "peek and call differ", "%s: %+v %+v", at, peek, d)
					}
					if d.Units == 0 && d.Change != (Change{}) || peek.Change != (Change{}) {
						require.Fail(t, "a call that changes nothing has a Change", at)
					}
					later := func(ms int64, call Call) Decision {
						return m.copyOf().decide(h.nowMs+ms, h.q, call)
					}
					switch {
					case call.Cost > h.q.Limit && !call.AtMost:
						require.EqualValues(t, -1, d.RetryAfterMs, at)
					case d.RetryAfterMs > 0:
						waits++
						require.Zero(t, d.Allowed, at)
						require.Positive(t, later(d.RetryAfterMs, call).Allowed, at)
						require.Zero(t, later(d.RetryAfterMs-1, call).Allowed, at)
					default:
						require.Positive(t, d.Allowed, at)
					}
					ask := Call{Cost: 1, Peek: true}
					if now := later(0, ask); now.Used != d.Used {
						require.Failf(t, "Used differs from a peek", "%s: %+v", at, now)
					}
					require.Zero(t, later(d.ResetAfterMs, ask).Used, at)
					if d.ResetAfterMs > 0 {
						require.Positive(t, later(d.ResetAfterMs-1, ask).Used, at)
						require.Greater(t, later(d.NextAfterMs, ask).Remaining, d.Remaining, at)
						require.Equal(t, d.Remaining, later(d.NextAfterMs-1, ask).Remaining, at)
					}
					// A limit of 0 denies, whatever the state, and says when that is gone.
					none := m.copyOf().decide(h.nowMs, per(0, h.q.WindowMs), call)
					require.Equal(t, Decision{
						RetryAfterMs: -1, ResetAfterMs: d.ResetAfterMs, Used: none.Used,
						WindowMs: h.q.WindowMs,
					}, none, at)
					require.Equal(t, d.Used > 0, none.Used > 0, at)
					// The new limit admits as many as it leaves, and not one more.
					limit := per(1+h.rng.Int64N(2*h.q.Limit), h.q.WindowMs)
					fits := max(0, limit.Limit-d.Used)
					if _, gcra := m.(*stateMachine[GCRA, *GCRA]); !gcra &&
						limit.Limit <= limit.WindowMs*entriesPerMs {
						got := m.copyOf().decide(h.nowMs, limit, Call{Cost: limit.Limit, AtMost: true})
						require.Equal(t, fits, got.Allowed, at)
					}
					if d.Units > 0 { // otherwise the key would answer the same again
						require.Equal(t, d, before.decide(h.nowMs, h.q, call), at)
					}
				}
			}
			require.Greater(t, waits, int(seeds)*3)
		})
	}
}

// TestClockSteps checks that a step back admits no more than before it, and a step
// forwards by d the same as waiting for d: a decision knows only the current instant.
func TestClockSteps(t *testing.T) {
	for _, kind := range machines {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range uint64(60) {
				m := kind.new()
				h := newHistory(seed, m)
				all := Call{Cost: h.q.Limit, AtMost: true}
				for range 30 {
					h.move(forwards)
					m.decide(h.nowMs, h.q, h.call())
					backMs := h.rng.Int64N(3 * h.q.WindowMs)
					now := m.copyOf().decide(h.nowMs, h.q, all)
					back := m.copyOf()
					got := back.decide(h.nowMs-backMs, h.q, all)
					require.LessOrEqual(t, got.Allowed, now.Allowed, "seed %d, back by %d", seed, backMs)
					// A step there and back has no effect.
					again := back.decide(h.nowMs, h.q, all)
					require.LessOrEqual(t, got.Allowed+again.Allowed, now.Allowed,
						"seed %d, back by %d and here again", seed, backMs)
				}
			}
		})
	}
}
