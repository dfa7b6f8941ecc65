package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A zsource is an input of ZUNION and similar commands: a sorted set, a set, whose
// members have the score 1, or nothing if the key does not exist.
type zsource struct {
	sorted *zset.Set
	plain  *set.Set
	weight float64
}

// zsources parses numkeys in c.Args[countAt] and looks up the keys after it. rest is
// the arguments after those.
func zsources(c *Ctx, countAt int) (sources []zsource, rest [][]byte, refusal resp.Value) {
	count, refusal := toInt(c.Args[countAt])
	rest = c.Args[countAt+1:]
	switch {
	case refusal.IsError():
		return nil, nil, refusal
	case count < 1:
		return nil, nil, resp.Error(
			"ERR at least 1 input key is needed for '" + c.Cmd.FullName() + "' command")
	case count > int64(len(rest)):
		return nil, nil, ErrSyntax
	}
	sources = make([]zsource, count)
	for i := range sources {
		sources[i].weight = 1
		n := c.DB.Lookup(rest[i], c.NowMs)
		if n == nil {
			continue
		}
		sources[i].sorted, sources[i].plain = store.ZSetOf(n), store.SetOf(n)
		if sources[i].sorted == nil && sources[i].plain == nil {
			return nil, nil, ErrWrongType
		}
	}
	return sources, rest[count:], resp.None
}

func (s *zsource) len() int {
	switch {
	case s.sorted != nil:
		return s.sorted.Len()
	case s.plain != nil:
		return s.plain.Len()
	}
	return 0
}

func (s *zsource) score(member []byte) (float64, bool) {
	switch {
	case s.sorted != nil:
		return s.sorted.Score(member)
	case s.plain != nil:
		return 1, s.plain.Contains(member)
	}
	return 0, false
}

// each calls fn for each member and its unweighted score until fn returns false. The
// member is valid only during the call.
func (s *zsource) each(fn func(member []byte, score float64) bool) {
	var text []byte
	switch {
	case s.sorted != nil:
		s.sorted.Ascend(0, func(e zset.Entry) bool {
			text = e.AppendMember(text[:0])
			return fn(text, e.Score)
		})
	case s.plain != nil:
		for m := range s.plain.All() {
			text = m.AppendText(text[:0])
			if !fn(text, 1) {
				return
			}
		}
	}
}
