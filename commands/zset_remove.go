package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

// ZREM key member [member ...]
func zrem(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := zsetOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	removed := int64(0)
	members := c.Args[2:]
	for i, member := range members {
		if i%zset.MembersAhead == 0 {
			s.ReadMembersAhead(members[i:], 1)
		}
		if _, ok := s.Remove(member); ok {
			removed++
		}
	}
	if removed > 0 {
		c.DB.Modified(n)
	}
	return resp.Int(removed)
}

// zremRange handles ZREMRANGEBYSCORE, ZREMRANGEBYRANK and ZREMRANGEBYLEX.
func zremRange(c *Ctx, by rangeBy) resp.Value {
	if by == byScore {
		return zremRangeByScore(c)
	}
	q := rangeQuery{by: by, lo: c.Args[2], hi: c.Args[3]}
	ranks, refusal := q.parse()
	if refusal.IsError() {
		return refusal
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := zsetOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	removed := s.RemoveByRank(ranks(s))
	if removed > 0 {
		c.DB.Modified(n)
	}
	return resp.Int(int64(removed))
}

// zremRangeByScore handles ZREMRANGEBYSCORE, with which limiters on sorted sets begin
// every request, without the closure of zremRange.
func zremRangeByScore(c *Ctx) resp.Value {
	r, ok := parseScoreRange(c.Args[2], c.Args[3])
	if !ok {
		return errMinMaxFloat
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := zsetOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	removed := s.RemoveByScore(r)
	if removed > 0 {
		c.DB.Modified(n)
	}
	return resp.Int(int64(removed))
}

// zpop handles ZPOPMIN key [count], or ZPOPMAX if highest.
func zpop(c *Ctx, highest bool) resp.Value {
	count := int64(1)
	if len(c.Args) > 3 {
		return ErrSyntax
	}
	counted := len(c.Args) == 3
	if counted {
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return ErrNotPositive
		}
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := zsetOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil || count == 0 {
		return resp.Empty
	}
	size := int(min(count, int64(s.Len())))
	out := newEntryList(c, size, true, counted && c.Proto == resp.RESP3)
	for range size {
		if highest {
			out.add(s.At(s.Len() - 1))
			s.RemoveByRank(s.Len()-1, math.MaxInt)
		} else {
			out.add(s.At(0))
			s.RemoveByRank(0, 1)
		}
	}
	c.DB.Modified(n)
	return out.Array()
}
