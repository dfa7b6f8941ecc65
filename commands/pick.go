package commands

import (
	"math"
	"math/rand/v2"

	"github.com/zlimit/zlimit/resp"
)

// A randomQuery is the request of a RAND command on a collection: one element, or
// count elements, which are distinct or (negative count) may repeat.
type randomQuery struct {
	single     bool
	count      int64
	repeats    bool
	withValues bool // include the scores or values of the elements
}

// readRandomQuery parses the arguments and reads the collection. If there is nothing
// to return from it, of is nil and reply is set.
func readRandomQuery[T any](
	c *Ctx, with string, read func(*Ctx) (*T, resp.Value),
) (p randomQuery, of *T, reply resp.Value) {
	p, refusal := parseRandomQuery(c, with)
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

// parseRandomQuery parses [count [with]] after the key, or [count] if with is empty.
func parseRandomQuery(c *Ctx, with string) (p randomQuery, refusal resp.Value) {
	if len(c.Args) == 2 {
		return randomQuery{single: true}, resp.None
	}
	p.count, refusal = toInt(c.Args[2])
	if refusal.IsError() {
		return p, refusal
	}
	if p.count == math.MinInt64 {
		return p, errLongRange
	}
	p.withValues = with != "" && len(c.Args) == 4 && EqualFold(c.Args[3], with)
	if len(c.Args) > 4 || len(c.Args) == 4 && !p.withValues {
		return p, ErrSyntax
	}
	if p.withValues && (p.count < -math.MaxInt64/2 || p.count > math.MaxInt64/2) {
		return p, errValueRange
	}
	if p.count < 0 {
		p.count, p.repeats = -p.count, true
	}
	return p, resp.None
}

// capacity returns the initial capacity for elements that may repeat, which is bounded
// because clients can send any count.
func (p randomQuery) capacity() int { return int(min(p.count, 1024)) }

// A selection chooses needed of the remaining elements of an iteration, each with
// the same probability (selection sampling, Knuth's algorithm S).
type selection struct{ needed, remaining int }

// selects reports whether the next element of the iteration is chosen.
func (s *selection) selects() bool {
	selected := rand.IntN(s.remaining) < s.needed
	s.remaining--
	if selected {
		s.needed--
	}
	return selected
}

func (s *selection) done() bool { return s.needed == 0 }
