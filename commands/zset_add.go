package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

// zaddRule is what ZADD's options ask for.
type zaddRule struct {
	nx, xx, gt, lt, ch, incr bool
}

// zaddOutcome counts what one ZADD did.
type zaddOutcome struct {
	added, updated int64
	listpack       bool       // Redis would still keep the set in a listpack
	last           resp.Value // with INCR: the score, or null where nothing was done
}

// ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]
func zadd(c *Ctx) resp.Value { return zaddWith(c, zaddRule{}) }

// ZINCRBY key increment member
//
// is ZADD INCR: options that stand where the increment should are read as such,
// as in Redis, and then too little is left.
func zincrBy(c *Ctx) resp.Value { return zaddWith(c, zaddRule{incr: true}) }

func zaddWith(c *Ctx, rule zaddRule) resp.Value {
	o := options{c.Args[2:]}
flags:
	for {
		switch {
		case o.word("nx"):
			rule.nx = true
		case o.word("xx"):
			rule.xx = true
		case o.word("gt"):
			rule.gt = true
		case o.word("lt"):
			rule.lt = true
		case o.word("ch"):
			rule.ch = true
		case o.word("incr"):
			rule.incr = true
		default:
			break flags
		}
	}
	pairs := o.rest
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		return ErrSyntax
	case rule.nx && rule.xx:
		return errZAddNXXX
	case rule.gt && rule.lt || rule.nx && (rule.gt || rule.lt):
		return errZAddGTLTNX
	case rule.incr && len(pairs) > 2:
		return errZAddIncrPair
	}
	return zaddPairs(c, rule, pairs)
}

// zaddPairs applies a rule to pairs of score and member. All scores are read
// before anything changes.
func zaddPairs(c *Ctx, rule zaddRule, pairs [][]byte) resp.Value {
	for i := 0; i < len(pairs); i += 2 {
		if _, ok := parseFloat(pairs[i]); !ok {
			return errNotFloat
		}
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := zsetOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		if rule.xx {
			return rule.reply(zaddOutcome{last: resp.Null})
		}
		s = &zset.Set{}
	}

	out := zaddOutcome{last: resp.Null}
	out.listpack = s.IsListpack()
	for i := 0; i < len(pairs) && !refusal.IsError(); i += 2 {
		score, _ := parseFloat(pairs[i])
		refusal = zaddOne(c, s, rule, score, pairs[i+1], &out)
	}
	if rule.incr {
		c.changesAre(eventZIncr)
	}
	if out.added+out.updated > 0 {
		s.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
		if n == nil {
			c.DB.Put(c.Args[1], s)
		} else {
			c.DB.Modified(n)
		}
	}
	if refusal.IsError() {
		return refusal
	}
	return rule.reply(out)
}

// zaddOne adds or re-scores one member as the rule allows.
func zaddOne(c *Ctx, s *zset.Set, rule zaddRule, score float64, member []byte, out *zaddOutcome) resp.Value {
	if !rule.nx && !rule.xx && !rule.gt && !rule.lt && !rule.incr {
		switch old, existed := s.Add(member, out.store(c, s, score, member)); {
		case !existed:
			out.added++
		case old != score:
			out.updated++
		}
		return resp.None
	}
	old, exists := s.Score(member)
	if exists && rule.nx || !exists && rule.xx {
		return resp.None
	}
	if exists {
		if rule.incr {
			if score += old; math.IsNaN(score) {
				return errScoreNaN
			}
		}
		if rule.gt && score <= old || rule.lt && score >= old {
			return resp.None
		}
	}
	s.Add(member, out.store(c, s, score, member))
	switch {
	case !exists:
		out.added++
	case old != score:
		out.updated++
	}
	out.last = resp.Double(score)
	return resp.None
}

// store is what Redis keeps of a score: its listpacks hold -0 as the integer 0,
// its skiplists keep the sign.
func (o *zaddOutcome) store(c *Ctx, s *zset.Set, score float64, member []byte) float64 {
	if !o.listpack {
		return score
	}
	if int64(len(member)) > c.Settings.ZSetMaxListpackValue || int64(s.Len()) >= c.Settings.ZSetMaxListpackCount {
		_, exists := s.Score(member)
		o.listpack = exists
	}
	if o.listpack && score == 0 {
		return 0
	}
	return score
}

// reply is what ZADD answers: the new score with INCR, else a count.
func (r zaddRule) reply(out zaddOutcome) resp.Value {
	switch {
	case r.incr:
		return out.last
	case r.ch:
		return resp.Int(out.added + out.updated)
	}
	return resp.Int(out.added)
}
