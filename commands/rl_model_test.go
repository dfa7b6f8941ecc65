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
// model that stores every entry or lease.

type modelHold struct {
	score, units, windowMs, endMs int64
	reply                         string
	settled                       bool
	counted, excess, released     int64
}

// A modelEntry is an entry of a log. A weighted one has its units in its member.
type modelEntry struct {
	score, units int64
	weighted     bool
}

func (e modelEntry) String() string {
	if e.weighted {
		return fmt.Sprintf("%d:%d", e.score, e.units)
	}
	return strconv.FormatInt(e.score, 10)
}

// An rlModel models the log of a key and its holds. fault names a mistake to make.
type rlModel struct {
	nowMs, expireAtMs int64
	entries           []modelEntry
	holds             map[string]*modelHold
	fault             string
}

func (m *rlModel) advance(d int64) {
	m.nowMs += d
	if m.nowMs > m.expireAtMs {
		m.entries, m.expireAtMs = nil, 0
	}
	for id, h := range m.holds {
		if m.nowMs > h.endMs {
			delete(m.holds, id)
		}
	}
}

func (m *rlModel) newest() *modelEntry { return &m.entries[len(m.entries)-1] }

func (m *rlModel) retention() int64 {
	if len(m.entries) == 0 {
		return 0
	}
	return m.expireAtMs - m.newest().score/1000
}

func (m *rlModel) used(windowMs int64) (used []modelEntry) {
	if m.fault == "leaves early" {
		windowMs--
	}
	i := slices.IndexFunc(m.entries, func(e modelEntry) bool { return e.score/1000 > m.nowMs-windowMs })
	if i < 0 {
		return nil
	}
	return m.entries[i:]
}

func units(entries []modelEntry) (sum int64) {
	for _, e := range entries {
		sum += e.units
	}
	return sum
}

// add adds n units and returns the score of their entry.
func (m *rlModel) add(n, windowMs int64) (score int64) {
	keep := max(m.retention(), windowMs)
	ms, last := m.nowMs, int64(0)
	if len(m.entries) > 0 {
		last = m.newest().score
		ms = max(ms, last/1000)
	}
	held := m.used(keep)
	if len(held) == 0 {
		last = 0
	}
	m.entries = held
	switch score = max(ms*1000, last+1); {
	case score/1000 > ms:
		score = last
		m.newest().units += n
		m.newest().weighted = true
	default:
		weighted := n > 1 || len(held) > 0 && m.newest().weighted
		m.entries = append(m.entries, modelEntry{score, n, weighted})
	}
	if m.fault == "spills" {
		ms += (n - 1) / 1000
	}
	m.expireAtMs = ms + keep
	return score
}

// allow models RL.ALLOW. It returns the reply and the score of the units, 0 if denied.
func (m *rlModel) allow(limit, windowMs, cost int64) (reply string, score int64) {
	used := m.used(windowMs)
	n := units(used)
	wait := func(e modelEntry) int64 { return min(e.score/1000+windowMs, m.expireAtMs+1) - m.nowMs }
	reset := int64(0)
	if n > 0 {
		reset = wait(used[len(used)-1])
	}
	switch {
	case cost > limit:
		return fmt.Sprint([]int64{0, limit, max(limit-n, 0), -1, reset}), 0
	case n+cost > limit:
		leave := n + cost - limit
		i := 0
		for ; leave > used[i].units; i++ {
			leave -= used[i].units
		}
		return fmt.Sprint([]int64{0, limit, max(limit-n, 0), wait(used[i]), reset}), 0
	}
	score = m.add(cost, windowMs)
	return fmt.Sprint([]int64{cost, limit, limit - n - cost, 0, score/1000 + windowMs - m.nowMs}), score
}

// remove removes the newest n of the units from first to last that still count.
func (m *rlModel) remove(n, first, last int64) (removed int64) {
	keep := m.retention()
	held := m.used(keep)
	m.entries = slices.Clone(m.entries)
	for i := len(m.entries) - 1; i >= 0 && removed < n; i-- {
		if e := &m.entries[i]; e.score >= first && e.score <= last && slices.Contains(held, *e) {
			takes := min(n-removed, e.units)
			removed += takes
			if e.units -= takes; e.units == 0 {
				m.entries = slices.Delete(m.entries, i, i+1)
			}
		}
	}
	if len(m.entries) == 0 {
		m.expireAtMs = 0
	} else if removed > 0 {
		m.expireAtMs = m.newest().score/1000 + keep
		m.advance(0) // the remaining units may have expired
	}
	return removed
}

func (m *rlModel) reserve(id string, limit, windowMs, estimate, holdMs int64) string {
	if h := m.holds[id]; h != nil && m.fault != "reserves twice" {
		return h.reply
	}
	reply, score := m.allow(limit, windowMs, estimate)
	if score > 0 {
		m.holds[id] = &modelHold{
			score: score, units: estimate, windowMs: windowMs, endMs: m.nowMs + holdMs, reply: reply,
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
	first, last := h.score, h.score
	if m.fault == "releases the newest" {
		first, last = 0, 1<<60
	}
	h.released = m.remove(h.units-actual, first, last)
	h.counted, h.excess = 0, max(actual-h.units, 0)
	for _, e := range m.used(m.retention()) {
		if e.score == h.score {
			h.counted = min(e.units, h.units-h.released)
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
		m.advance(pick(0, 0, 0, 1, 7, 100, 333, 999, 1000, 1001, 5000, -2))
		b.ctx.NowMs, b.ctx.NowUs = m.nowMs, m.nowMs*1000
		b.ctx.Reset()
		id, limit := string('a'+rune(r.IntN(4))), pick(3, 8, 20, 1999, 0, 1<<40)
		window, n := pick(2, 1000, 5000), pick(1, 2, 3, 5, 9)
		switch r.IntN(120) {
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12:
			n = pick(1200, 1<<39+1)
		case 0: // as many calls as a millisecond has scores, and more
			for range 1100 {
				want, _ := m.allow(1999, 1000, 1)
				b.ctx.Reset()
				if got := format(b.call(split("RL.ALLOW k 1999 1000")...)); got != want {
					return fmt.Errorf("seed %d, step %d: got %s, want %s", seed, i, got, want)
				}
			}
		}
		var line, want string
		switch r.IntN(8) {
		case 0:
			line = fmt.Sprintf("RL.ALLOW k %d %d COST %d", limit, window, n)
			want, _ = m.allow(limit, window, n)
			if rest, denied := strings.CutPrefix(want, "[0 "); r.IntN(2) == 0 {
				line += " SHADOW"
				if denied {
					want = fmt.Sprintf("[%d %s", n, rest)
				}
			}
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
		if got := format(b.call(split(line)...)); got != want {
			return fmt.Errorf("seed %d, step %d, %s: got %s, want %s", seed, i, line, got, want)
		}
		var units []string
		for _, l := range strings.Fields(b.wire("ZRANGE", "k", "0", "-1")) {
			if l[0] != '*' && l[0] != '$' {
				units = append(units, l)
			}
		}
		equal := func(l string, e modelEntry) bool { return l == e.String() }
		if !slices.EqualFunc(units, m.entries, equal) {
			return fmt.Errorf("seed %d, step %d, %s: got %d entries %.100q, want %d %.6v",
				seed, i, line, len(units), units, len(m.entries), m.entries)
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
		"reserves twice", "settles twice", "releases the newest", "omits the excess", "leaves early",
		"spills",
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
