package zset

import (
	"fmt"
	"math"
)

// history runs a program of operations against a Set and the model. Every
// choice is read from the program, so that fuzzing can steer it; at its end
// the choices are zero.
type history struct {
	set     Set
	model   model
	program []byte
	now     int64 // highest score appended so far
	log     []string
	kinds   [kindTree + 1]int
	told    int // steps on a packed set whose members tell their scores
	growing bool
	small   bool // stay where the set is packed, mostly
	telling bool // members tell their score, as long as the set is packed
}

func (h *history) byte() int {
	if len(h.program) == 0 {
		return 0
	}
	c := h.program[0]
	h.program = h.program[1:]
	return int(c)
}

func (h *history) below(n int) int {
	if n <= 0 {
		return 0
	}
	return (h.byte()<<8 | h.byte()) % n
}

// number picks the score of a new unit or of one that may be held.
func (h *history) number() int64 {
	switch c := h.byte(); c % 8 {
	case 0, 1, 2: // the next one, in distances of one to three bytes
		h.now = min(h.now+int64(1)<<(c/8%22), maxNumber)
		return h.now
	case 3:
		h.now = min(h.now+1, maxNumber)
		return h.now
	case 4, 5: // about one that is held
		if n := len(h.model.pairs); n > 0 {
			if v := h.model.pairs[h.below(n)].score; math.Abs(v) <= maxNumber && v == math.Trunc(v) {
				return min(max(int64(v)+int64(c/8%5)-2, -maxNumber), maxNumber)
			}
		}
		return int64(c)
	case 6:
		return h.now - int64(h.below(1<<16))
	default:
		edge := []int64{0, 1, -1, maxNumber, -maxNumber, maxNumber - 1, 1 << 32, 127, 128, -5}
		return edge[c/8%len(edge)]
	}
}

func (h *history) score() float64 {
	edge := []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.Inf(-1), 1 << 60, -maxNumber * 2, 5e-324, math.MaxFloat64}
	if c := h.byte(); c%4 == 0 {
		return edge[c/4%len(edge)]
	}
	return float64(h.number())
}

// member picks a member that is not the decimal of its score, or is held.
func (h *history) member() string {
	switch c := h.byte(); c % 4 {
	case 0:
		if c >= 128 { // with a number at its beginning, that may be its score
			return decimal(h.number()) + []string{"-x", "7", "\x00", ":"}[c/4%4]
		}
		return "m" + decimal(int64(h.below(300)))
	case 1:
		other := []string{"", "-0", "007", "+7", "7.0", "9007199254740993", "-", "x\x00y", " 1", "1e3", "99999999999999999999"}
		return other[c/4%len(other)]
	default:
		if n := len(h.model.pairs); n > 0 {
			return h.model.pairs[h.below(n)].member
		}
		return decimal(int64(h.below(100)))
	}
}

func (h *history) bound() float64 {
	if n := len(h.model.pairs); n > 0 && h.byte()%4 > 0 {
		v := h.model.pairs[h.below(n)].score
		return v + []float64{0, 0, 1, -1, 0.5, -0.5}[h.byte()%6]
	}
	return h.score()
}

func (h *history) scoreRange() ScoreRange {
	c := h.byte()
	r := ScoreRange{h.bound(), h.bound(), c&1 > 0, c&2 > 0}
	if math.IsNaN(r.Min) || math.IsNaN(r.Max) { // inf - inf
		return ScoreRange{Min: 1}
	}
	return r
}

func (h *history) lexBound() LexBound {
	if c := h.byte(); c%8 < 2 {
		return LexBound{Inf: int8(c%8*2 - 1)}
	}
	return LexBound{Value: []byte(h.member()), Open: h.byte()%2 > 0}
}

// step runs one operation. Only one that treeToo allows leaves the log.
func (h *history) step(treeToo bool) error {
	s, m := &h.set, &h.model
	note := func(format string, args ...any) { h.log = append(h.log, fmt.Sprintf(format, args...)) }
	pick := h.byte()
	if !treeToo && pick >= 250 {
		pick -= 250
	}
	if h.growing && pick >= 135 && pick < 220 {
		pick -= 135
	}
	switch {
	case pick < 110:
		v := h.number()
		if h.telling && treeToo {
			return h.add(decimal(v)+[]string{"-a", "-b", "_", ""}[h.byte()%4], float64(v))
		}
		note("add %d", v)
		return h.add(decimal(v), float64(v))
	case pick < 125:
		if !s.IsLog() {
			return nil
		}
		first, n := int64(1)<<(h.byte()%40), 1+h.below(16)
		if s.Len() > 0 {
			first = s.Newest() + 1 + int64(h.byte()%3)*first
		}
		if first > maxNumber-1000 {
			return nil
		}
		note("run %d %d", first, n)
		s.AppendRun(first, n)
		for i := range int64(n) {
			m.add(decimal(first+i), float64(first+i))
		}
		h.now = first + int64(n) - 1
	case pick < 165:
		member := h.member()
		note("remove %q", member)
		got, ok := s.Remove([]byte(member))
		want, held := m.remove(member)
		if ok != held || got != want {
			return fmt.Errorf("Remove is %v %v, not %v %v", got, ok, want, held)
		}
	case pick < 180:
		n := len(m.pairs)
		start := h.below(n+2) - 1
		stop := start + h.below(n/4+2)
		note("remove ranks %d %d", start, stop)
		if got, want := s.RemoveByRank(start, stop), m.removeRanks(start, stop); got != want {
			return fmt.Errorf("RemoveByRank is %d, not %d", got, want)
		}
	case pick < 200:
		r := h.scoreRange()
		note("remove scores %+v", r)
		start, stop := m.ranks(r)
		if stop-start > 40 && h.byte()%8 > 0 {
			r.Max = r.Min // do not empty the set all the time
			start, stop = m.ranks(r)
		}
		if got, want := s.RemoveByScore(r), m.removeRanks(start, stop); got != want {
			return fmt.Errorf("RemoveByScore is %d, not %d", got, want)
		}
	case pick < 220:
		if !s.IsLog() || len(m.pairs) == 0 {
			return nil
		}
		rank := h.below(len(m.pairs)) / 3
		v := int64(m.pairs[rank].score) - int64(h.byte()%2) // which may be below what a float64 tells apart
		stop := rank
		for stop < len(m.pairs) && int64(m.pairs[stop].score) <= v {
			stop++
		}
		note("drop through %d", v)
		if got, want := s.DropThrough(v), m.removeRanks(0, stop); got != want {
			return fmt.Errorf("DropThrough is %d, not %d", got, want)
		}
	case pick < 235:
		r := h.scoreRange()
		note("ranks of %+v", r)
		start, stop := s.RankRangeByScore(r)
		if wantStart, wantStop := m.ranks(r); start != wantStart || stop != wantStop || s.CountByScore(r) != stop-start {
			return fmt.Errorf("RankRangeByScore is %d %d, not %d %d", start, stop, wantStart, wantStop)
		}
	case pick < 250:
		return h.lex(LexRange{h.lexBound(), h.lexBound()})
	default:
		if h.telling && len(m.pairs) < packedEntries {
			return nil
		}
		member, score := h.member(), h.score()
		note("add %q %v", member, score)
		return h.add(member, score)
	}
	return nil
}

func (h *history) add(member string, score float64) error {
	got, ok := h.set.Add([]byte(member), score)
	want, held := h.model.add(member, score)
	if ok != held || math.Float64bits(got) != math.Float64bits(want) {
		return fmt.Errorf("Add is %v %v, not %v %v", got, ok, want, held)
	}
	return nil
}

func (h *history) lex(r LexRange) error {
	if h.set.Len() > lexWalkMax {
		return nil
	}
	h.log = append(h.log, fmt.Sprintf("lex %+v", r))
	start, stop := h.set.RankRangeByLex(r)
	if wantStart, wantStop := h.model.lex(r, false); stop-start != wantStop-wantStart || stop > start && start != wantStart {
		return fmt.Errorf("RankRangeByLex is %d %d, not %d %d", start, stop, wantStart, wantStop)
	}
	start, stop = h.set.RankRangeByLexFromTop(r)
	if wantStart, wantStop := h.model.lex(r, true); stop-start != wantStop-wantStart || stop > start && start != wantStart {
		return fmt.Errorf("RankRangeByLexFromTop is %d %d, not %d %d", start, stop, wantStart, wantStop)
	}
	return nil
}

// run takes steps until the program ends, checking the invariants after each
// one and comparing every so often.
func (h *history) run(treeToo bool, every int) error {
	for i := 0; len(h.program) > 0; i++ {
		h.growing = !h.small && i/300%3 < 2 // large enough for every border, then down again
		err := h.step(treeToo)
		h.kinds[h.set.kind]++
		if h.telling && h.set.kind == kindPacked && !h.set.packed().loose {
			h.told++
		}
		if err == nil && (i%3 == 0 || h.set.Len() < 40 || len(h.program) == 0) { // it reads the whole set
			err = h.set.check()
		}
		if err == nil && (i%every == 0 || len(h.program) == 0) {
			err = compare(&h.set, &h.model, h.below)
		}
		if err != nil {
			return fmt.Errorf("step %d, %q: %w", i, h.log[max(len(h.log)-5, 0):], err)
		}
	}
	return nil
}
