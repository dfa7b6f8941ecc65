package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A zsource is an input of ZUNION and its kin: a sorted set, a set, whose
// members all have the score 1, or nothing, where the key does not exist.
type zsource struct {
	sorted *zset.Set
	plain  *set.Set
	weight float64
}

// zsources reads numkeys at countAt and looks up as many keys behind it. rest
// are the arguments behind those.
func zsources(c *Ctx, countAt int) (sources []zsource, rest [][]byte, refusal resp.Value) {
	count, refusal := toInt(c.Args[countAt])
	rest = c.Args[countAt+1:]
	switch {
	case refusal.IsError():
		return nil, nil, refusal
	case count < 1:
		return nil, nil, resp.Error("ERR at least 1 input key is needed for '" + c.Cmd.FullName() + "' command")
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
		switch data := store.DataOf(n).(type) {
		case *zset.Set:
			sources[i].sorted = data
		case *set.Set:
			sources[i].plain = data
		default:
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

// score returns a member's score, not weighted.
func (s *zsource) score(member []byte) (float64, bool) {
	switch {
	case s.sorted != nil:
		return s.sorted.Score(member)
	case s.plain != nil:
		return 1, s.plain.Contains(member)
	}
	return 0, false
}

// each calls fn with the members and their scores, not weighted, until it
// returns false. The member is fn's only while it runs.
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
