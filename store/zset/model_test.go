package zset

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A modelEntry is an entry in the form that compare uses.
type modelEntry struct {
	member string
	score  float64
}

// model is a naive implementation of the set: a sorted slice.
type model struct{ entries []modelEntry }

func (m *model) find(member string) int {
	return slices.IndexFunc(m.entries, func(p modelEntry) bool { return p.member == member })
}

func (m *model) add(member string, score float64) (old float64, existed bool) {
	if i := m.find(member); i >= 0 {
		old, existed = m.entries[i].score, true
		if old == score {
			return old, true
		}
		m.entries = slices.Delete(m.entries, i, i+1)
	}
	i := sort.Search(len(m.entries), func(i int) bool {
		p := m.entries[i]
		return p.score > score || p.score == score && p.member > member
	})
	m.entries = slices.Insert(m.entries, i, modelEntry{member, score})
	return old, existed
}

func (m *model) remove(member string) (float64, bool) {
	i := m.find(member)
	if i < 0 {
		return 0, false
	}
	score := m.entries[i].score
	m.entries = slices.Delete(m.entries, i, i+1)
	return score, true
}

func (m *model) ranks(r ScoreRange) (start, stop int) {
	for _, p := range m.entries {
		if p.score < r.Min || p.score == r.Min && r.MinOpen {
			start++
		}
		if p.score < r.Max || p.score == r.Max && !r.MaxOpen {
			stop++
		}
	}
	return start, max(start, stop)
}

func (m *model) removeRanks(start, stop int) int {
	start, stop = max(start, 0), min(stop, len(m.entries))
	if start >= stop {
		return 0
	}
	m.entries = slices.Delete(m.entries, start, stop)
	return stop - start
}

// lex follows zzlFirstInLexRange and zzlLastInLexRange of Redis 7.0 and the walks after them, for sets of
// listpack size or of equal scores.
func (m *model) lex(r LexRange, fromTop bool) (start, stop int) {
	gteMin := func(p modelEntry) bool {
		c := bytes.Compare([]byte(p.member), r.Min.Value)
		return r.Min.Inf < 0 || r.Min.Inf == 0 && (c > 0 || c == 0 && !r.Min.Open)
	}
	lteMax := func(p modelEntry) bool {
		c := bytes.Compare([]byte(p.member), r.Max.Value)
		return r.Max.Inf > 0 || r.Max.Inf == 0 && (c < 0 || c == 0 && !r.Max.Open)
	}
	c := bytes.Compare(r.Min.Value, r.Max.Value)
	if r.Min.Inf == 0 && r.Max.Inf == 0 && (c > 0 || c == 0 && (r.Min.Open || r.Max.Open)) {
		return 0, 0
	}
	n := len(m.entries)
	if r.Min.Inf > r.Max.Inf || n == 0 || !gteMin(m.entries[n-1]) || !lteMax(m.entries[0]) {
		return 0, 0
	}
	if fromTop {
		for stop = n; stop > 0 && !lteMax(m.entries[stop-1]); {
			stop--
		}
		for start = stop; start > 0 && gteMin(m.entries[start-1]); {
			start--
		}
		return start, stop
	}
	for start < n && !gteMin(m.entries[start]) {
		start++
	}
	for stop = start; stop < n && lteMax(m.entries[stop]); {
		stop++
	}
	return start, stop
}

func toModelEntry(e Entry) modelEntry { return modelEntry{e.Member(), e.Score} }

func equalEntries(a, b modelEntry) bool {
	return a.member == b.member && math.Float64bits(a.score) == math.Float64bits(b.score)
}

// A comparer compares entries. It keeps the space in which it formats their members.
type comparer struct{ member []byte }

func (c *comparer) equal(e Entry, p modelEntry) bool {
	c.member = e.AppendMember(c.member[:0])
	return string(c.member) == p.member && math.Float64bits(e.Score) == math.Float64bits(p.score)
}

// compare reports the first difference between a set and the model, through every query. rnd picks the
// sampled ranks.
func compare(s *Set, m *model, rnd func(n int) int) error {
	n := len(m.entries)
	if s.Len() != n {
		return fmt.Errorf("Len is %d, not %d", s.Len(), n)
	}
	var c comparer
	at, sound := 0, true
	s.Ascend(0, func(e Entry) bool {
		sound = at < n && c.equal(e, m.entries[at])
		at++
		return sound
	})
	if !sound || at != n {
		return fmt.Errorf("ascending: entry %d is %q, or the last one, of %v", at-1, c.member, m.entries)
	}
	s.Descend(n, func(e Entry) bool {
		at--
		sound = at >= 0 && c.equal(e, m.entries[at])
		return sound
	})
	if !sound || at != 0 {
		return fmt.Errorf("descending: entry %d is %q, or the last one, of %v", at, c.member, m.entries)
	}
	if err := compareScan(s, m); err != nil {
		return err
	}
	for _, absent := range []string{"no such member", decimal(int64(rnd(1<<15)) + 1<<45), "-0.0"} {
		if m.find(absent) >= 0 {
			continue
		}
		if score, ok := s.Score([]byte(absent)); ok || score != 0 {
			return fmt.Errorf("Score(%q) is %v %v", absent, score, ok)
		}
		if r, ok := s.Rank([]byte(absent)); ok || r != 0 {
			return fmt.Errorf("Rank(%q) is %d %v", absent, r, ok)
		}
	}
	if n == 0 {
		return nil
	}
	for range 4 {
		if err := compareAt(s, m, rnd(n)); err != nil {
			return err
		}
	}
	if err := compareAt(s, m, 0); err != nil {
		return err
	}
	return compareAt(s, m, n-1)
}

func compareScan(s *Set, m *model) (err error) {
	var c comparer
	n := len(m.entries)
	seen, unseen := make([]bool, n), n
	find := func(e Entry) {
		c.member = e.AppendMember(c.member[:0])
		i := sort.Search(n, func(i int) bool {
			p := m.entries[i]
			return p.score > e.Score || p.score == e.Score && p.member >= string(c.member)
		})
		switch {
		case i == n || m.entries[i].score != e.Score || m.entries[i].member != string(c.member):
			err = fmt.Errorf("scan saw %q %v", c.member, e.Score)
		case !seen[i]:
			seen[i] = true
			unseen--
		}
	}
	for cursor, calls := uint64(0), 0; ; calls++ {
		if cursor = s.Scan(cursor, find); cursor == 0 {
			break
		}
		if calls > 4*n+100 {
			return fmt.Errorf("scan does not end")
		}
	}
	if err == nil && unseen > 0 {
		return fmt.Errorf("scan saw %d of %d", n-unseen, n)
	}
	return err
}

func compareAt(s *Set, m *model, rank int) error {
	p := m.entries[rank]
	if got := toModelEntry(s.At(rank)); !equalEntries(got, p) {
		return fmt.Errorf("At(%d) is %v, not %v", rank, got, p)
	}
	if score, ok := s.Score([]byte(p.member)); !ok || math.Float64bits(score) != math.Float64bits(p.score) {
		return fmt.Errorf("Score(%q) is %v %v, not %v", p.member, score, ok, p.score)
	}
	if r, ok := s.Rank([]byte(p.member)); !ok || r != rank {
		return fmt.Errorf("Rank(%q) is %d %v, not %d", p.member, r, ok, rank)
	}
	var up, down []modelEntry
	s.Ascend(rank, func(e Entry) bool { up = append(up, toModelEntry(e)); return len(up) < 3 })
	if want := m.entries[rank:min(rank+3, len(m.entries))]; !slices.EqualFunc(up, want, equalEntries) {
		return fmt.Errorf("Ascend(%d) is %v, not %v", rank, up, want)
	}
	s.Descend(rank, func(e Entry) bool { down = append(down, toModelEntry(e)); return len(down) < 3 })
	slices.Reverse(down)
	if want := m.entries[max(rank-2, 0) : rank+1]; !slices.EqualFunc(down, want, equalEntries) {
		return fmt.Errorf("Descend(%d) is %v, not %v", rank, down, want)
	}
	if !s.IsLog() {
		return nil
	}
	v := int64(p.score)
	before, units, after := m.units(0, rank), m.units(rank, rank+1), m.units(rank+1, len(m.entries))
	if s.Units() != before+units+after {
		return fmt.Errorf("Units is %d, not %d", s.Units(), before+units+after)
	}
	if s.UnitsAfter(v) != after || s.UnitsAfter(v-1) != after+units || s.UnitsOf(v) != units {
		return fmt.Errorf("UnitsAfter(%d) is %d, not %d; UnitsOf %d, not %d",
			v, s.UnitsAfter(v), after, s.UnitsOf(v), units)
	}
	for _, unit := range []int64{before, before + units - 1} {
		if s.UnitAt(unit) != v {
			return fmt.Errorf("UnitAt(%d) is %d, not %d", unit, s.UnitAt(unit), v)
		}
	}
	if s.Oldest() != int64(m.entries[0].score) || s.Newest() != int64(m.entries[len(m.entries)-1].score) {
		return fmt.Errorf("from %d to %d", s.Oldest(), s.Newest())
	}
	if e := s.At(rank); e.IsNumber() != isDecimal(p.member) || e.Number() != v || e.Units() != units {
		return fmt.Errorf("At(%d) is %v, not %d of %d units", rank, e, v, units)
	}
	return nil
}

// units returns the units of the entries of a log with ranks in [start, stop).
func (m *model) units(start, stop int) (units int64) {
	for _, p := range m.entries[start:stop] {
		n := int64(1)
		if _, after, ok := strings.Cut(p.member, ":"); ok {
			n, _ = strconv.ParseInt(after, 10, 64)
		}
		units += n
	}
	return units
}

func isDecimal(member string) bool { return !strings.Contains(member, ":") }

// decimal returns the member of a log's unit.
func decimal(v int64) string { return strconv.FormatInt(v, 10) }
