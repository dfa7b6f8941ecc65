package commands_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// The tests run random histories of RL.ALLOW, REFUND, RESERVE, SETTLE and CANCEL, or
// of ACQUIRE, RENEW and RELEASE, and compare each reply and the resulting state with a
// model that stores every unit or lease.

type modelHold struct {
	first, last, windowMs, endMs int64
	reply                        string
	settled                      bool
	counted, excess, released    int64
}

// An rlModel models the log of a key and its holds. fault names a mistake to make.
type rlModel struct {
	nowMs, expireAtMs int64
	units             []int64
	holds             map[string]*modelHold
	fault             string
}

func (m *rlModel) advance(d int64) {
	m.nowMs += d
	if m.nowMs > m.expireAtMs {
		m.units, m.expireAtMs = nil, 0
	}
	for id, h := range m.holds {
		if m.nowMs > h.endMs {
			delete(m.holds, id)
		}
	}
}

func (m *rlModel) retention() int64 {
	if len(m.units) == 0 {
		return 0
	}
	return m.expireAtMs - m.units[len(m.units)-1]/1000
}

func (m *rlModel) used(windowMs int64) (used []int64) {
	for _, u := range m.units {
		if u/1000 > m.nowMs-windowMs {
			used = append(used, u)
		}
	}
	return used
}

func (m *rlModel) add(n, windowMs int64) (first, last int64) {
	keep := max(m.retention(), windowMs)
	first = m.nowMs * 1000
	if len(m.units) > 0 {
		first = max(first, m.units[len(m.units)-1]+1)
	}
	m.units = m.used(keep)
	for i := range n {
		m.units = append(m.units, first+i)
	}
	last = first + n - 1
	m.expireAtMs = last/1000 + keep
	return first, last
}

// allow models RL.ALLOW. It returns the reply and the first and last new unit.
func (m *rlModel) allow(limit, windowMs, cost int64) (reply string, first, last int64) {
	used := m.used(windowMs)
	n := int64(len(used))
	wait := func(u int64) int64 { return min(u/1000+windowMs, m.expireAtMs+1) - m.nowMs }
	reset := int64(0)
	if n > 0 {
		reset = wait(used[n-1])
	}
	switch {
	case cost > limit:
		return fmt.Sprint([]int64{0, limit, max(limit-n, 0), -1, reset}), 0, 0
	case n+cost > limit:
		return fmt.Sprint([]int64{0, limit, max(limit-n, 0), wait(used[n+cost-limit-1]), reset}), 0, 0
	}
	first, last = m.add(cost, windowMs)
	return fmt.Sprint([]int64{cost, limit, limit - n - cost, 0, last/1000 + windowMs - m.nowMs}), first, last
}

// remove removes the newest n of the units from first to last that still count.
func (m *rlModel) remove(n, first, last int64) (removed int64) {
	keep := m.retention()
	held := m.used(keep)
	for i := len(m.units) - 1; i >= 0 && removed < n; i-- {
		if u := m.units[i]; u >= first && u <= last && slices.Contains(held, u) {
			m.units = slices.Delete(slices.Clone(m.units), i, i+1)
			removed++
		}
	}
	if len(m.units) == 0 {
		m.expireAtMs = 0
	} else if removed > 0 {
		m.expireAtMs = m.units[len(m.units)-1]/1000 + keep
		m.advance(0) // the remaining units may have expired
	}
	return removed
}

func (m *rlModel) reserve(id string, limit, windowMs, estimate, holdMs int64) string {
	if h := m.holds[id]; h != nil && m.fault != "reserves twice" {
		return h.reply
	}
	reply, first, last := m.allow(limit, windowMs, estimate)
	if first > 0 {
		m.holds[id] = &modelHold{
			first: first, last: last, windowMs: windowMs, endMs: m.nowMs + holdMs, reply: reply,
		}
	}
	return reply
}

func (m *rlModel) settle(id string, actual int64) *modelHold {
	h := m.holds[id]
	if h == nil || h.settled && m.fault != "settles twice" {
		return h
	}
	h.settled = true
	estimate := h.last - h.first + 1
	first, last := h.first, h.last
	if m.fault == "releases the newest" {
		first, last = 0, 1<<60
	}
	h.released = m.remove(estimate-actual, first, last)
	h.counted, h.excess = 0, max(actual-estimate, 0)
	for _, u := range m.used(m.retention()) {
		if u >= h.first && u <= h.last {
			h.counted++
		}
	}
	h.counted += h.excess
	if h.excess > 0 && m.fault != "omits the excess" {
		m.add(h.excess, h.windowMs)
	}
	return h
}

// format formats a reply like a slice of its elements.
func format(v resp.Value) string {
	switch {
	case v.IsError():
		return v.Str()
	case v.Kind() == resp.KindInteger:
		return fmt.Sprint(v.Int())
	}
	var parts []string
	for _, e := range v.Elems() {
		if e.Kind() == resp.KindInteger {
			parts = append(parts, fmt.Sprint(e.Int()))
		} else {
			parts = append(parts, e.Str())
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// runHolds runs a history and returns the first difference from the model.
func runHolds(seed uint64, steps int, fault string) error {
	r := rand.New(rand.NewPCG(seed, 1))
	b := newBench()
	m := &rlModel{nowMs: fuzzNowMs, holds: map[string]*modelHold{}, fault: fault}
	pick := func(of ...int64) int64 { return of[r.IntN(len(of))] }
	for i := range steps {
		m.advance(pick(0, 0, 0, 1, 7, 100, 333, 999, 1000, 1001, 5000))
		b.ctx.NowMs, b.ctx.NowUs = m.nowMs, m.nowMs*1000
		b.ctx.Reset()
		id, limit := string('a'+rune(r.IntN(4))), pick(3, 8, 20, 1999, 0)
		window, n := pick(2, 1000, 5000), pick(1, 2, 3, 5, 9)
		if r.IntN(10) == 0 {
			n = 1200 // exceeds the scores of one millisecond
		}
		var line, want string
		switch r.IntN(8) {
		case 0:
			line = fmt.Sprintf("RL.ALLOW k %d %d COST %d", limit, window, n)
			want, _, _ = m.allow(limit, window, n)
		case 1:
			line = fmt.Sprintf("RL.REFUND k %d", n)
			want = fmt.Sprint(m.remove(n, 0, 1<<60))
		case 2, 3:
			actual := pick(0, 1, 2, 3, 6, 12)
			line = fmt.Sprintf("RL.SETTLE k %s %d", id, actual)
			want = "0"
			if h := m.settle(id, actual); h != nil {
				want = fmt.Sprint([]int64{h.counted, h.excess})
			}
		case 4:
			line, want = "RL.CANCEL k "+id, "0"
			if h := m.settle(id, 0); h != nil {
				want = fmt.Sprint(h.released)
			}
		default:
			hold := pick(1, 500, 20_000)
			line = fmt.Sprintf("RL.RESERVE k %d %d %d HOLD %d ID %s", limit, window, n, hold, id)
			want = m.reserve(id, limit, window, n, hold)
		}
		if limit*n > 0 && limit > window*1000 {
			panic("limit is too large for the window")
		}
		if got := format(b.call(split(line)...)); got != want {
			return fmt.Errorf("seed %d, step %d, %s: got %s, want %s", seed, i, line, got, want)
		}
		var units []string
		for _, l := range strings.Fields(b.wire("ZRANGE", "k", "0", "-1")) {
			if l[0] != '*' && l[0] != '$' {
				units = append(units, l)
			}
		}
		equal := func(l string, u int64) bool { return l == strconv.FormatInt(u, 10) }
		if !slices.EqualFunc(units, m.units, equal) {
			return fmt.Errorf("seed %d, step %d, %s: got %d units %.100q, want %d %.6v",
				seed, i, line, len(units), units, len(m.units), m.units)
		}
		if at := max(b.call("PEXPIRETIME", "k").Int(), 0); at != m.expireAtMs {
			return fmt.Errorf("seed %d, step %d, %s: got expiry at %d, want %d",
				seed, i, line, at, m.expireAtMs)
		}
	}
	return nil
}

func TestHoldsModel(t *testing.T) {
	for seed := range uint64(60) {
		require.NoError(t, runHolds(seed, 100, ""))
	}
	// The comparison detects every fault of the model.
	for _, fault := range []string{
		"reserves twice", "settles twice", "releases the newest", "omits the excess",
	} {
		found := false
		for seed := uint64(0); seed < 60 && !found; seed++ {
			found = runHolds(seed, 100, fault) != nil
		}
		require.True(t, found, fault)
	}
}

// runLeases runs a history of leases and returns the first difference from the model,
// in which leases end late milliseconds too late.
func runLeases(seed uint64, steps int, late int64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	b := newBench()
	nowMs := int64(fuzzNowMs)
	ends := map[string]int64{}
	for i := range steps {
		nowMs += []int64{0, 0, 1, 50, 99, 100, 101, 1000}[r.IntN(8)]
		b.ctx.NowMs, b.ctx.NowUs = nowMs, nowMs*1000
		b.ctx.Reset()
		var living []int64
		for id, end := range ends {
			if end+late <= nowMs {
				delete(ends, id)
			} else {
				living = append(living, end)
			}
		}
		id, most, lease := string('0'+rune(r.IntN(6))), r.IntN(5), []int64{1, 100, 1000}[r.IntN(3)]
		has := ends[id] != 0
		line, want := "", "0"
		switch r.IntN(4) {
		case 0:
			line = "RL.RELEASE k " + id
			if has {
				want = "1"
				delete(ends, id)
			}
		case 1:
			line = fmt.Sprintf("RL.RENEW k %s LEASE %d", id, lease)
			if has {
				want = "1"
				ends[id] = nowMs + lease
			}
		default:
			line = fmt.Sprintf("RL.ACQUIRE k %d LEASE %d ID %s", most, lease, id)
			granted := 0
			if most > 0 && (has || len(living) < most) {
				granted = 1
				ends[id] = nowMs + lease
			}
			living = living[:0]
			for _, end := range ends {
				living = append(living, end)
			}
			slices.Sort(living)
			wait := int64(0)
			if over := len(living) - most; most == 0 {
				wait = -1
			} else if over >= 0 {
				wait = living[over] - nowMs
			}
			want = fmt.Sprint([]int64{int64(granted), int64(len(living)), int64(most), wait})
		}
		if got := format(b.call(split(line)...)); got != want {
			return fmt.Errorf("seed %d, step %d, %s: got %s, want %s", seed, i, line, got, want)
		}
	}
	return nil
}

func TestLeasesModel(t *testing.T) {
	found := false
	for seed := range uint64(60) {
		require.NoError(t, runLeases(seed, 150, 0))
		found = found || runLeases(seed, 150, 1) != nil
	}
	require.True(t, found, "a model that is off by a millisecond is not detected")
}
