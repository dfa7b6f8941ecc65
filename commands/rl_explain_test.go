package commands_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// The test runs random histories of RL.ALLOW and compares RL.EXPLAIN with a list of
// hits, which says for each later millisecond what is used and so what is admitted.

// explainModel is a key as a list of hits under the definition of its algorithm.
type explainModel struct {
	algo              string
	limit, windowMs   int64
	expireAtMs        int64   // set by a user; 0: none
	marks             []int64 // of each hit, in the order of arrival; its meaning depends on algo
	fault             string
	tatUs, intervalUs int64 // GCRA
}

const (
	explainBuckets = 4
	explainBurst   = 6
)

// args returns the arguments of RL.ALLOW after the key and before options.
func (m *explainModel) args() string {
	parameter := map[string]int{"BUCKETS": explainBuckets, "GCRA": explainBurst}[m.algo]
	text := fmt.Sprintf("%d %d ALGO %s", m.limit, m.windowMs, m.algo)
	if parameter > 0 {
		text += fmt.Sprint(" ", parameter)
	}
	return text
}

func (m *explainModel) capacity() int64 {
	if m.algo == "GCRA" {
		return explainBurst
	}
	return m.limit
}

func (m *explainModel) width() int64 { return (m.windowMs + explainBuckets - 1) / explainBuckets }

func (m *explainModel) bucketEnd(ms int64) int64 { return ms - ms%m.width() + m.width() - 1 }

// hit records an admitted hit. first says that it is the first of its call.
func (m *explainModel) hit(nowMs int64, first bool) {
	last := int64(0)
	if n := len(m.marks); n > 0 {
		last = m.marks[n-1]
	}
	// What no longer counts is removed and does not return if the clock steps back.
	m.marks = slices.DeleteFunc(m.marks, func(mark int64) bool {
		switch m.algo {
		case "LOG":
			return mark/1000 <= nowMs-m.windowMs
		case "FIXED":
			return mark <= nowMs
		case "BUCKETS":
			return mark <= max(last, m.bucketEnd(nowMs))-(explainBuckets+1)*m.width()
		}
		return false
	})
	var mark int64
	switch m.algo {
	case "LOG": // the score of the call's entry
		if mark = last; first {
			mark = max(nowMs*1000, last+1)
		}
	case "FIXED": // the end of the slice
		mark = nowMs - nowMs%m.windowMs + m.windowMs
		if last > nowMs {
			mark = max(mark, last)
		}
	case "BUCKETS": // the last millisecond of the bucket
		mark = max(last, m.bucketEnd(nowMs))
	case "COUNTER": // the beginning of the slice
		mark = max(last, nowMs-nowMs%m.windowMs)
	case "GCRA":
		m.tatUs = max(m.tatUs, nowMs*1000) + m.intervalUs
	}
	m.marks = append(m.marks, mark)
}

// counting returns the instants of the hits that count at an instant, in milliseconds.
func (m *explainModel) counting(atMs int64) (hits []int64) {
	if m.gone(atMs) {
		return nil
	}
	for _, mark := range m.marks {
		ms, last := mark, mark+m.windowMs
		switch m.algo {
		case "LOG":
			ms = mark / 1000
			last = ms + m.windowMs
		case "FIXED":
			last = mark
		}
		if m.fault == "late" {
			last++
		}
		if atMs < last {
			hits = append(hits, ms)
		}
	}
	return hits
}

func (m *explainModel) gone(atMs int64) bool { return m.expireAtMs > 0 && atMs > m.expireAtMs }

func (m *explainModel) used(atMs int64) int64 {
	switch {
	case m.gone(atMs) || len(m.marks) == 0:
		return 0
	case m.algo == "GCRA":
		return m.behind(atMs, m.limit)
	case m.algo == "COUNTER":
		begin := max(atMs-atMs%m.windowMs, m.marks[len(m.marks)-1])
		current, previous := int64(0), int64(0)
		for _, mark := range m.marks {
			switch mark {
			case begin:
				current++
			case begin - m.windowMs:
				previous++
			}
		}
		rest := m.windowMs - max(0, atMs-begin)
		if m.fault == "late" {
			rest = min(rest+1, m.windowMs)
		}
		return current + (previous*rest+m.windowMs-1)/m.windowMs
	}
	return int64(len(m.counting(atMs)))
}

// behind returns the units of GCRA's burst that are not available, if the limit is limit.
func (m *explainModel) behind(atMs, limit int64) int64 {
	intervalUs := (m.windowMs*1000 + limit - 1) / limit
	if m.gone(atMs) || len(m.marks) == 0 {
		return 0
	}
	return max(0, (m.tatUs-atMs*1000+intervalUs-1)/intervalUs)
}

// first returns the first of the waits from least on after which ok holds.
func (m *explainModel) first(nowMs, least int64, ok func(atMs int64) bool) int64 {
	for d := least; d < 10*m.windowMs+10_000; d++ {
		if ok(nowMs + d) {
			return d
		}
	}
	panic("nothing leaves")
}

func (m *explainModel) fits(nowMs, capacity, cost int64, used func(atMs int64) int64) int64 {
	if cost > capacity {
		return -1
	}
	return m.first(nowMs, 0, func(atMs int64) bool { return used(atMs)+cost <= capacity })
}

// window formats what RL.EXPLAIN should reply for the window.
func (m *explainModel) window(nowMs, cost int64) string {
	used, capacity := m.used(nowMs), m.capacity()
	pairs := []any{"limit", m.limit, "window_ms", m.windowMs, "used", used}
	pairs = append(pairs, "remaining", max(0, capacity-used))
	if m.algo == "LOG" || m.algo == "BUCKETS" {
		hits := m.counting(nowMs)
		slices.Sort(hits)
		if used > 0 {
			oldest, newest := hits[0], hits[used-1]
			pairs = append(pairs, "oldest_ms", oldest, "oldest_age_ms", nowMs-oldest,
				"newest_ms", newest, "newest_age_ms", nowMs-newest)
		}
		var tenths [10]int64
		for _, ms := range hits {
			tenth := 9
			for tenth > 0 && ms <= nowMs-m.windowMs+m.windowMs*int64(tenth)/10 {
				tenth--
			}
			if m.fault == "tenth" {
				tenth = min(9, tenth+1)
			}
			tenths[tenth]++
		}
		pairs = append(pairs, "tenths", tenths)
	}
	leaves, units := []int64{}, []int64{}
	for n := int64(1); n <= used && len(leaves) < 10; {
		leaves = append(leaves, m.first(nowMs, 1, func(atMs int64) bool { return m.used(atMs) <= used-n }))
		size := int64(1)
		if at := len(m.marks) - int(used-n); m.algo == "LOG" {
			for ; at < len(m.marks) && m.marks[at] == m.marks[at-1]; at++ {
				size++
			}
		}
		units, n = append(units, size), n+size
	}
	limit := 2 * m.limit
	if m.fault == "double" {
		limit++
		capacity++
	}
	underDouble := m.used
	if m.algo == "GCRA" { // the limit is its rate
		underDouble = func(atMs int64) int64 { return m.behind(atMs, 2*m.limit) }
	}
	retry := m.fits(nowMs, 2*capacity, cost, underDouble)
	allowed := int64(0)
	if retry == 0 {
		allowed = cost
	}
	pairs = append(pairs, "leave_after_ms", leaves)
	if len(units) > 0 && slices.Max(units) > 1 {
		pairs = append(pairs, "leave_units", units)
	}
	pairs = append(pairs, "fits_after_ms", m.fits(nowMs, m.capacity(), 1, m.used),
		"cost", cost, "cost_fits_after_ms", m.fits(nowMs, m.capacity(), cost, m.used),
		"double", []any{
			"limit", limit, "allowed", allowed, "remaining", max(0, 2*capacity-underDouble(nowMs)),
			"retry_after_ms", retry,
		})
	return fmt.Sprint(pairs)
}

// nested formats a reply like fmt.Sprint the slices of the model.
func nested(v resp.Value) string {
	switch v.Kind() {
	case resp.KindInteger:
		return fmt.Sprint(v.Int())
	case resp.KindArray, resp.KindMap:
		parts := make([]string, len(v.Elems()))
		for i, e := range v.Elems() {
			parts[i] = nested(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return v.Str()
}

// fieldOf returns the value of a name in a map.
func fieldOf(v resp.Value, name string) resp.Value {
	for i := 0; i < len(v.Elems()); i += 2 {
		if v.Elems()[i].Str() == name {
			return v.Elems()[i+1]
		}
	}
	return resp.None
}

// runExplain runs a history and returns the first difference from the model.
func runExplain(seed uint64, algo, fault string) error {
	r := rand.New(rand.NewPCG(seed, 16))
	pick := func(of ...int64) int64 { return of[r.IntN(len(of))] }
	b := newBench()
	m := &explainModel{algo: algo, limit: pick(1, 3, 8, 25), windowMs: pick(3, 20, 97, 400), fault: fault}
	m.intervalUs = (m.windowMs*1000 + m.limit - 1) / m.limit
	nowMs := int64(fuzzNowMs) + r.Int64N(1000)
	back := pick(0, -1) // the clock steps back, or a user sets deadlines
	at := func(ms int64, line string) resp.Value {
		b.ctx.NowMs, b.ctx.NowUs = ms, ms*1000
		b.ctx.Reset()
		return b.call(split(line)...)
	}
	for i := range 60 {
		nowMs += pick(0, 0, 1, 2, m.windowMs/10, m.windowMs/3, m.windowMs, back, back*m.windowMs/2)
		if at(nowMs, "EXISTS k").Int() == 0 {
			m.marks, m.expireAtMs, m.tatUs = nil, 0, 0
		}
		cost := pick(1, 1, 2, 5, m.limit, m.limit+1)
		allow := at(nowMs, fmt.Sprintf("RL.ALLOW k %s COST %d", m.args(), cost))
		if allow.Elems()[0].Int() > 0 {
			for i := range cost {
				m.hit(nowMs, i == 0)
			}
			m.expireAtMs = 0
		}
		// The deadline of FIXED is the end of its slice.
		if r.IntN(15) == 0 && back == 0 && len(m.marks) > 0 && algo != "FIXED" {
			m.expireAtMs = nowMs + 1 + r.Int64N(m.windowMs)
			at(nowMs, fmt.Sprint("PEXPIREAT k ", m.expireAtMs))
		}
		where := fmt.Sprintf("seed %d, step %d, %s COST %d", seed, i, m.args(), cost)
		line := fmt.Sprintf("RL.EXPLAIN k %s COST %d", m.args(), cost)
		if r.IntN(2) == 0 && algo != "GCRA" && len(m.marks) > 0 { // the key's own algorithm
			line = fmt.Sprintf("RL.EXPLAIN k %d %d COST %d", m.limit, m.windowMs, cost)
		}
		x := at(nowMs, line)
		if x.IsError() {
			return fmt.Errorf("%s: %s", where, x.Str())
		}
		window := fieldOf(x, "windows").Elems()[0]
		if got, want := nested(window), m.window(nowMs, cost); got != want {
			return fmt.Errorf("%s:\ngot  %s\nwant %s", where, got, want)
		}
		// RL.ALLOW itself: denied a millisecond before, admitted then.
		wait := fieldOf(window, "cost_fits_after_ms").Int()
		allows := func(d int64) bool {
			return at(nowMs+d, fmt.Sprintf("RL.ALLOW k %s COST %d PEEK", m.args(), cost)).Elems()[0].Int() > 0
		}
		// In this order: a key is gone once it was asked for after its deadline.
		if wait < 0 && allows(0) || wait > 0 && allows(wait-1) || wait >= 0 && !allows(wait) {
			return fmt.Errorf("%s: RL.ALLOW does not admit after exactly %d ms", where, wait)
		}
	}
	return nil
}

func TestExplainModel(t *testing.T) {
	for _, algo := range []string{"LOG", "FIXED", "GCRA", "BUCKETS", "COUNTER"} {
		t.Run(algo, func(t *testing.T) {
			for seed := range uint64(20) {
				require.NoError(t, runExplain(seed, algo, ""))
			}
			faults := map[string][]string{
				"LOG": {"late", "tenth", "double"}, "BUCKETS": {"late", "tenth", "double"},
				"FIXED": {"late", "double"}, "COUNTER": {"late", "double"}, "GCRA": {"double"},
			}
			for _, fault := range faults[algo] {
				found := false
				for seed := uint64(0); seed < 20 && !found; seed++ {
					found = runExplain(seed, algo, fault) != nil
				}
				require.True(t, found, fault)
			}
		})
	}
}
