package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

type zaddOptions struct {
	nx, xx, gt, lt, ch, incr bool
}

// zaddResult counts what one ZADD did.
type zaddResult struct {
	added, updated int64
	listpack       bool       // Redis would still store the set as a listpack
	last           resp.Value // with INCR: the new score, or null if nothing changed
}

// ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]
func zadd(c *Ctx) resp.Value { return zaddWith(c, zaddOptions{}) }

// ZINCRBY key increment member
//
// ZINCRBY is ZADD INCR. As in Redis, it parses options too, and then fails because
// arguments are missing.
func zincrBy(c *Ctx) resp.Value { return zaddWith(c, zaddOptions{incr: true}) }

func zaddWith(c *Ctx, opts zaddOptions) resp.Value {
	o := options{c.Args[2:]}
flags:
	for {
		switch {
		case o.word("nx"):
			opts.nx = true
		case o.word("xx"):
			opts.xx = true
		case o.word("gt"):
			opts.gt = true
		case o.word("lt"):
			opts.lt = true
		case o.word("ch"):
			opts.ch = true
		case o.word("incr"):
			opts.incr = true
		default:
			break flags
		}
	}
	pairs := o.rest
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		return ErrSyntax
	case opts.nx && opts.xx:
		return errZAddNXXX
	case opts.gt && opts.lt || opts.nx && (opts.gt || opts.lt):
		return errZAddGTLTNX
	case opts.incr && len(pairs) > 2:
		return errZAddIncrPair
	}
	return zaddPairs(c, opts, pairs)
}

// zaddPairs adds pairs of score and member, after it has parsed all scores.
func zaddPairs(c *Ctx, opts zaddOptions, pairs [][]byte) resp.Value {
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
		if opts.xx {
			return opts.reply(zaddResult{last: resp.Null})
		}
		s = &zset.Set{}
	}

	out := zaddResult{last: resp.Null}
	out.listpack = s.IsListpack()
	for i := 0; i < len(pairs) && !refusal.IsError(); i += 2 {
		if i%(2*zset.MembersAhead) == 0 {
			s.ReadMembersAhead(pairs[i+1:], 2)
		}
		score, _ := parseFloat(pairs[i])
		refusal = zaddOne(c, s, opts, score, pairs[i+1], &out)
	}
	if opts.incr {
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
	return opts.reply(out)
}

// zaddOne adds one member or changes its score, as the options allow.
func zaddOne(
	c *Ctx, s *zset.Set, opts zaddOptions, score float64, member []byte, out *zaddResult,
) resp.Value {
	if !opts.nx && !opts.xx && !opts.gt && !opts.lt && !opts.incr {
		switch old, existed := s.Add(member, out.storedScore(c, s, score, member)); {
		case !existed:
			out.added++
		case old != score:
			out.updated++
		}
		return resp.None
	}
	old, exists := s.Score(member)
	if exists && opts.nx || !exists && opts.xx {
		return resp.None
	}
	if exists {
		if opts.incr {
			if score += old; math.IsNaN(score) {
				return errScoreNaN
			}
		}
		if opts.gt && score <= old || opts.lt && score >= old {
			return resp.None
		}
	}
	s.Add(member, out.storedScore(c, s, score, member))
	switch {
	case !exists:
		out.added++
	case old != score:
		out.updated++
	}
	out.last = resp.Double(score)
	return resp.None
}

// storedScore returns the score that Redis stores: its listpacks store -0 as the
// integer 0, its skiplists keep the sign.
func (o *zaddResult) storedScore(c *Ctx, s *zset.Set, score float64, member []byte) float64 {
	if !o.listpack {
		return score
	}
	if int64(len(member)) > c.Settings.ZSetMaxListpackValue ||
		int64(s.Len()) >= c.Settings.ZSetMaxListpackCount {
		_, exists := s.Score(member)
		o.listpack = exists
	}
	if o.listpack && score == 0 {
		return 0
	}
	return score
}

// reply returns ZADD's reply: the new score with INCR, otherwise a count.
func (r zaddOptions) reply(out zaddResult) resp.Value {
	switch {
	case r.incr:
		return out.last
	case r.ch:
		return resp.Int(out.added + out.updated)
	}
	return resp.Int(out.added)
}
