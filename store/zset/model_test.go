package zset

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
)

// pair is an entry as the model and the comparator see it.
type pair struct {
	member string
	score  float64
}

// model is the set done naively: a sorted slice.
type model struct{ pairs []pair }

func (m *model) find(member string) int {
	return slices.IndexFunc(m.pairs, func(p pair) bool { return p.member == member })
}

func (m *model) add(member string, score float64) (old float64, existed bool) {
	if i := m.find(member); i >= 0 {
		old, existed = m.pairs[i].score, true
		if old == score {
			return old, true
		}
		m.pairs = slices.Delete(m.pairs, i, i+1)
	}
	i := sort.Search(len(m.pairs), func(i int) bool {
		p := m.pairs[i]
		return p.score > score || p.score == score && p.member > member
	})
	m.pairs = slices.Insert(m.pairs, i, pair{member, score})
	return old, existed
}

func (m *model) remove(member string) (float64, bool) {
	i := m.find(member)
	if i < 0 {
		return 0, false
	}
	score := m.pairs[i].score
	m.pairs = slices.Delete(m.pairs, i, i+1)
	return score, true
}

func (m *model) ranks(r ScoreRange) (start, stop int) {
	for _, p := range m.pairs {
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
	start, stop = max(start, 0), min(stop, len(m.pairs))
	if start >= stop {
		return 0
	}
	m.pairs = slices.Delete(m.pairs, start, stop)
	return stop - start
}

// lex follows zzlFirstInLexRange and zzlLastInLexRange of Redis 7.0 and the
// walks after them, for sets of the size of a listpack or of one score.
func (m *model) lex(r LexRange, fromTop bool) (start, stop int) {
	gteMin := func(p pair) bool {
		c := bytes.Compare([]byte(p.member), r.Min.Value)
		return r.Min.Inf < 0 || r.Min.Inf == 0 && (c > 0 || c == 0 && !r.Min.Open)
	}
	lteMax := func(p pair) bool {
		c := bytes.Compare([]byte(p.member), r.Max.Value)
		return r.Max.Inf > 0 || r.Max.Inf == 0 && (c < 0 || c == 0 && !r.Max.Open)
	}
	c := bytes.Compare(r.Min.Value, r.Max.Value)
	if r.Min.Inf == 0 && r.Max.Inf == 0 && (c > 0 || c == 0 && (r.Min.Open || r.Max.Open)) {
		return 0, 0
	}
	n := len(m.pairs)
	if r.Min.Inf > r.Max.Inf || n == 0 || !gteMin(m.pairs[n-1]) || !lteMax(m.pairs[0]) {
		return 0, 0
	}
	if fromTop {
		for stop = n; stop > 0 && !lteMax(m.pairs[stop-1]); {
			stop--
		}
		for start = stop; start > 0 && gteMin(m.pairs[start-1]); {
			start--
		}
		return start, stop
	}
	for start < n && !gteMin(m.pairs[start]) {
		start++
	}
	for stop = start; stop < n && lteMax(m.pairs[stop]); {
		stop++
	}
	return start, stop
}

func toPair(e Entry) pair { return pair{e.Member(), e.Score} }

func samePair(a, b pair) bool {
	return a.member == b.member && math.Float64bits(a.score) == math.Float64bits(b.score)
}

// compare reports the first difference between a set and the model, asking the
// set in every way it answers. rnd picks the places that are only sampled.
func compare(s *Set, m *model, rnd func(n int) int) error {
	n := len(m.pairs)
	if s.Len() != n {
		return fmt.Errorf("Len is %d, not %d", s.Len(), n)
	}
	var got []pair
	s.Ascend(0, func(e Entry) bool { got = append(got, toPair(e)); return true })
	if !slices.EqualFunc(got, m.pairs, samePair) {
		return fmt.Errorf("ascending: %v, not %v", got, m.pairs)
	}
	got = got[:0]
	s.Descend(n, func(e Entry) bool { got = append(got, toPair(e)); return true })
	slices.Reverse(got)
	if !slices.EqualFunc(got, m.pairs, samePair) {
		return fmt.Errorf("descending: %v, not %v", got, m.pairs)
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

func compareScan(s *Set, m *model) error {
	seen := map[string]float64{}
	for cursor, calls := uint64(0), 0; ; calls++ {
		if cursor = s.Scan(cursor, func(e Entry) { seen[e.Member()] = e.Score }); cursor == 0 {
			break
		}
		if calls > 4*len(m.pairs)+100 {
			return fmt.Errorf("scan does not end")
		}
	}
	if len(seen) != len(m.pairs) {
		return fmt.Errorf("scan saw %d of %d", len(seen), len(m.pairs))
	}
	for _, p := range m.pairs {
		if score, ok := seen[p.member]; !ok || score != p.score {
			return fmt.Errorf("scan saw %q %v, not %v", p.member, score, p.score)
		}
	}
	return nil
}

func compareAt(s *Set, m *model, rank int) error {
	p := m.pairs[rank]
	if got := toPair(s.At(rank)); !samePair(got, p) {
		return fmt.Errorf("At(%d) is %v, not %v", rank, got, p)
	}
	if score, ok := s.Score([]byte(p.member)); !ok || math.Float64bits(score) != math.Float64bits(p.score) {
		return fmt.Errorf("Score(%q) is %v %v, not %v", p.member, score, ok, p.score)
	}
	if r, ok := s.Rank([]byte(p.member)); !ok || r != rank {
		return fmt.Errorf("Rank(%q) is %d %v, not %d", p.member, r, ok, rank)
	}
	var up, down []pair
	s.Ascend(rank, func(e Entry) bool { up = append(up, toPair(e)); return len(up) < 3 })
	if want := m.pairs[rank:min(rank+3, len(m.pairs))]; !slices.EqualFunc(up, want, samePair) {
		return fmt.Errorf("Ascend(%d) is %v, not %v", rank, up, want)
	}
	s.Descend(rank, func(e Entry) bool { down = append(down, toPair(e)); return len(down) < 3 })
	slices.Reverse(down)
	if want := m.pairs[max(rank-2, 0) : rank+1]; !slices.EqualFunc(down, want, samePair) {
		return fmt.Errorf("Descend(%d) is %v, not %v", rank, down, want)
	}
	if !s.IsLog() {
		return nil
	}
	v := int64(p.score)
	if s.UnitAt(rank) != v || s.CountAfter(v) != len(m.pairs)-rank-1 || s.CountAfter(v-1) != len(m.pairs)-rank {
		return fmt.Errorf("UnitAt(%d) is %d, CountAfter(%d) %d", rank, s.UnitAt(rank), v, s.CountAfter(v))
	}
	if s.Oldest() != int64(m.pairs[0].score) || s.Newest() != int64(m.pairs[len(m.pairs)-1].score) {
		return fmt.Errorf("from %d to %d", s.Oldest(), s.Newest())
	}
	if e := s.At(rank); !e.IsNumber() || e.Number() != v {
		return fmt.Errorf("At(%d) is not %d", rank, v)
	}
	return nil
}

// decimal is the member of a log's unit.
func decimal(v int64) string { return strconv.FormatInt(v, 10) }
