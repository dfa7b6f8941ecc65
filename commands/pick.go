package commands

import (
	"math"
	"math/rand/v2"

	"github.com/zlimit/zlimit/resp"
)

// A pick is what the RAND commands on collections ask for: one element, or a
// count of them, different ones or (asked by a negative count) each picked
// among all.
type pick struct {
	single  bool
	count   int64
	repeats bool
	with    bool // what belongs to the elements (scores, values) too
}

// pickFrom reads a pick and the key. Where there is nothing to pick, of is nil
// and reply the answer.
func pickFrom[T any](c *Ctx, with string, read func(*Ctx) (*T, resp.Value)) (p pick, of *T, reply resp.Value) {
	p, refusal := parsePick(c, with)
	if refusal.IsError() {
		return p, nil, refusal
	}
	of, refusal = read(c)
	switch {
	case refusal.IsError():
		return p, nil, refusal
	case p.single && of == nil:
		return p, nil, resp.Null
	case !p.single && (of == nil || p.count == 0):
		return p, nil, resp.Empty
	}
	return p, of, resp.None
}

// parsePick reads [count [with]] behind the key; an empty with means that there
// is no such word.
func parsePick(c *Ctx, with string) (p pick, refusal resp.Value) {
	if len(c.Args) == 2 {
		return pick{single: true}, resp.None
	}
	p.count, refusal = toInt(c.Args[2])
	if refusal.IsError() {
		return p, refusal
	}
	if p.count == math.MinInt64 {
		return p, errLongRange
	}
	p.with = with != "" && len(c.Args) == 4 && EqualFold(c.Args[3], with)
	if len(c.Args) > 4 || len(c.Args) == 4 && !p.with {
		return p, ErrSyntax
	}
	if p.with && (p.count < -math.MaxInt64/2 || p.count > math.MaxInt64/2) {
		return p, errValueRange
	}
	if p.count < 0 {
		p.count, p.repeats = -p.count, true
	}
	return p, resp.None
}

// room is for how many elements, picked with repeats, to make room at first. The
// count is the client's word: memory follows what is picked, not it.
func (p pick) room() int { return int(min(p.count, 1024)) }

// A selection takes need of left elements while a walk offers one after the
// other, each with the chance it still needs (selection sampling, Knuth's
// algorithm S).
type selection struct{ need, left int }

// takes reports whether to take the element that the walk is at.
func (s *selection) takes() bool {
	taken := rand.IntN(s.left) < s.need
	s.left--
	if taken {
		s.need--
	}
	return taken
}

// done reports whether the walk may end.
func (s *selection) done() bool { return s.need == 0 }
