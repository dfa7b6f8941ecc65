package zset

import (
	"fmt"
	"math"
	"slices"
)

// history runs a program of operations on a Set and the model. Every choice is read from the program, so that
// fuzzing can steer it; after its end the choices are zero.
type history struct {
	set          Set
	model        model
	program      []byte
	now          int64 // highest score appended so far
	trace        []string
	kinds        [kindTree + 1]int
	regularSteps int // steps on a regular packed set
	growing      bool
	small        bool // stay mostly in the range of packed sets
	regular      bool // members lead with their score while the set is packed
	weights      bool // entries of a log may have units
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

// number returns the score of a new unit or of one that may exist.
func (h *history) number() int64 {
	switch c := h.byte(); c % 8 {
	case 0, 1, 2: // the next one, at distances that take one to three bytes
		h.now = min(h.now+int64(1)<<(c/8%22), maxNumber)
		return h.now
	case 3:
		h.now = min(h.now+1, maxNumber)
		return h.now
	case 4, 5: // near an existing one
		if n := len(h.model.entries); n > 0 {
			if v := h.model.entries[h.below(n)].score; math.Abs(v) <= maxNumber && v == math.Trunc(v) {
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
	edge := []float64{
		0, math.Copysign(0, -1), 1.5, math.Inf(1), math.Inf(-1), 1 << 60, -maxNumber * 2,
		5e-324, math.MaxFloat64,
	}
	if c := h.byte(); c%4 == 0 {
		return edge[c/4%len(edge)]
	}
	return float64(h.number())
}

// member returns a member that is not the decimal of its score, or an existing one.
func (h *history) member() string {
	switch c := h.byte(); c % 4 {
	case 0:
		if c >= 128 { // with a leading number that may be its score
			return decimal(h.number()) + []string{"-x", "7", "\x00", ":"}[c/4%4]
		}
		return "m" + decimal(int64(h.below(300)))
	case 1:
		other := []string{
			"", "-0", "007", "+7", "7.0", "9007199254740993", "-", "x\x00y", " 1", "1e3",
			"99999999999999999999",
		}
		return other[c/4%len(other)]
	default:
		if n := len(h.model.entries); n > 0 {
			return h.model.entries[h.below(n)].member
		}
		return decimal(int64(h.below(100)))
	}
}

func (h *history) bound() float64 {
	if n := len(h.model.entries); n > 0 && h.byte()%4 > 0 {
		v := h.model.entries[h.below(n)].score
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

// step runs one operation. It converts a log only if allowTree is set.
func (h *history) step(allowTree bool) error {
	s, m := &h.set, &h.model
	note := func(format string, args ...any) { h.trace = append(h.trace, fmt.Sprintf(format, args...)) }
	pick := h.byte()
	if !allowTree && pick >= 250 {
		pick -= 250
	}
	if h.growing && pick >= 135 && pick < 220 {
		pick -= 135
	}
	switch {
	case pick < 110:
		v := h.number()
		if h.regular && allowTree {
			return h.add(decimal(v)+[]string{"-a", "-b", "_", ""}[h.byte()%4], float64(v))
		}
		if h.weights && s.IsLog() {
			return h.weigh(v)
		}
		note("add %d", v)
		return h.add(decimal(v), float64(v))
	case pick < 125:
		if !s.IsLog() || s.hasWeights() {
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
		n := len(m.entries)
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
			r.Max = r.Min // rarely empty the set
			start, stop = m.ranks(r)
		}
		if got, want := s.RemoveByScore(r), m.removeRanks(start, stop); got != want {
			return fmt.Errorf("RemoveByScore is %d, not %d", got, want)
		}
	case pick < 220:
		if !s.IsLog() || len(m.entries) == 0 {
			return nil
		}
		rank := h.below(len(m.entries)) / 3
		v := int64(m.entries[rank].score) - int64(h.byte()%2) // possibly below the precision of a float64
		stop := rank
		for stop < len(m.entries) && int64(m.entries[stop].score) <= v {
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
		wantStart, wantStop := m.ranks(r)
		if start != wantStart || stop != wantStop || s.CountByScore(r) != stop-start {
			return fmt.Errorf("RankRangeByScore is %d %d, not %d %d", start, stop, wantStart, wantStop)
		}
	case pick < 250:
		return h.lex(LexRange{h.lexBound(), h.lexBound()})
	default:
		if h.regular && len(m.entries) < packedEntries {
			return nil
		}
		member, score := h.member(), h.score()
		note("add %q %v", member, score)
		return h.add(member, score)
	}
	return nil
}

// weigh adds an entry with a score or, if the log has one, changes its units.
func (h *history) weigh(v int64) error {
	s, m := &h.set, &h.model
	i := slices.IndexFunc(m.entries, func(p modelEntry) bool { return int64(p.score) == v })
	plain := slices.IndexFunc(m.entries, func(p modelEntry) bool { return !isDecimal(p.member) })
	if plain < 0 {
		plain = len(m.entries)
	}
	units := int64(1) << (h.byte() % 40)
	switch {
	case i >= 0 && i < plain-1: // below a plain one
		return nil
	case i >= 0 && h.byte()%4 == 0:
		units = 0
		fallthrough
	case i >= 0:
		h.trace = append(h.trace, fmt.Sprintf("set %d units of %d", units, v))
		s.SetUnits(v, units)
		member := m.entries[i].member
		m.remove(member)
		switch {
		case units > 1 || units == 1 && !isDecimal(member):
			m.add(fmt.Sprintf("%d:%d", v, units), float64(v))
		case units == 1:
			m.add(member, float64(v))
		}
		return nil
	case plain > 0 && v < int64(m.entries[plain-1].score), plain == len(m.entries) && h.byte()%4 > 0:
		h.trace = append(h.trace, fmt.Sprintf("add %d", v))
		return h.add(decimal(v), float64(v))
	}
	h.trace = append(h.trace, fmt.Sprintf("add %d units at %d", units, v))
	return h.add(fmt.Sprintf("%d:%d", v, units), float64(v))
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
	h.trace = append(h.trace, fmt.Sprintf("lex %+v", r))
	same := func(start, stop, wantStart, wantStop int) bool {
		return stop-start == wantStop-wantStart && (stop <= start || start == wantStart)
	}
	start, stop := h.set.RankRangeByLex(r)
	if wantStart, wantStop := h.model.lex(r, false); !same(start, stop, wantStart, wantStop) {
		return fmt.Errorf("RankRangeByLex is %d %d, not %d %d", start, stop, wantStart, wantStop)
	}
	start, stop = h.set.RankRangeByLexReverse(r)
	if wantStart, wantStop := h.model.lex(r, true); !same(start, stop, wantStart, wantStop) {
		return fmt.Errorf("RankRangeByLexFromTop is %d %d, not %d %d", start, stop, wantStart, wantStop)
	}
	return nil
}

// run runs steps until the program ends. It checks the invariants after each step and compares with the model
// after every so many.
func (h *history) run(allowTree bool, every int) error {
	for i := 0; len(h.program) > 0; i++ {
		h.growing = !h.small && i/300%3 < 2 // grow past every limit, then shrink
		err := h.step(allowTree)
		h.kinds[h.set.kind]++
		if h.regular && h.set.kind == kindPacked && !h.set.packed().irregular {
			h.regularSteps++
		}
		if err == nil && (i%3 == 0 || h.set.Len() < 40 || len(h.program) == 0) { // reads the whole set
			err = h.set.check()
		}
		if err == nil && (i%every == 0 || len(h.program) == 0) {
			err = compare(&h.set, &h.model, h.below)
		}
		if err != nil {
			return fmt.Errorf("step %d, %q: %w", i, h.trace[max(len(h.trace)-5, 0):], err)
		}
	}
	return nil
}
