package commands

import (
	"math/rand/v2"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/set"
)

// SRANDMEMBER key [count]
func srandMember(c *Ctx) resp.Value {
	if len(c.Args) > 3 {
		return ErrSyntax
	}
	p, s, reply := readRandomQuery(c, "", readSet)
	switch {
	case s == nil:
		return reply
	case p.single:
		return setMember(s.Random(rand.Uint64N))
	case p.repeats:
		out := c.Values(p.capacity())
		for range p.count {
			out = append(out, setMember(s.Random(rand.Uint64N)))
		}
		return resp.Array(out...)
	}
	return resp.Array(sampleMembers(c, s, p.count)...)
}

// sampleMembers returns count distinct members as replies, or all if there are fewer.
func sampleMembers(c *Ctx, s *set.Set, count int64) []resp.Value {
	n := int(min(count, int64(s.Len())))
	out := c.Values(n)
	s.Sample(n, rand.Uint64N, func(m set.Member) { out = append(out, setMember(m)) })
	return out
}

// SPOP key [count]
func spop(c *Ctx) resp.Value {
	if len(c.Args) > 3 {
		return ErrSyntax
	}
	count, none := int64(1), resp.Null
	if len(c.Args) == 3 {
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return ErrNotPositive
		}
		none = resp.Set()
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := setOf(n)
	switch {
	case refusal.IsError():
		return refusal
	case s == nil || count == 0:
		return none
	case len(c.Args) == 2:
		m := s.Random(rand.Uint64N)
		s.RemoveMember(m)
		c.DB.Modified(n)
		reply := setMember(m)
		c.didPop([]resp.Value{reply})
		return reply
	case count >= int64(s.Len()):
		out := allMembers(c, s)
		c.note(eventSPop, c.Args[1])
		c.DB.Delete(n)
		c.didCall("DEL", c.Args[1])
		return out
	}
	return popMembers(c, n, s, int(count))
}

// rebuildRatio is the ratio of popped to remaining members from which Redis builds a
// new set of the remaining ones.
const rebuildRatio = 5

// popMembers removes count random members, fewer than there are. As in Redis, if few
// remain, it builds a new set, which may turn a hash table into an intset.
func popMembers(c *Ctx, n *store.Node, s *set.Set, count int) resp.Value {
	out := c.Values(count)
	if remaining := s.Len() - count; remaining*rebuildRatio <= count {
		kept := &set.Set{}
		s.Sample(remaining, rand.Uint64N, func(m set.Member) { kept.AddMember(m, maxInts(c)) })
		for m := range s.All() {
			if !kept.ContainsMember(m) {
				out = append(out, setMember(m))
			}
		}
		store.Replace(n, kept)
	} else {
		popped := make([]set.Member, 0, count)
		s.Sample(count, rand.Uint64N, func(m set.Member) { popped = append(popped, m) })
		for _, m := range popped {
			s.RemoveMember(m)
			out = append(out, setMember(m))
		}
	}
	c.DB.Modified(n)
	c.didPop(out)
	return resp.Set(out...)
}

// maxLoggedRemovals is the maximum number of members in a logged SREM, so that its
// length is bounded.
const maxLoggedRemovals = 1024

func (c *Ctx) didPop(members []resp.Value) {
	if c.Group == nil {
		return
	}
	for part := range slices.Chunk(members, maxLoggedRemovals) {
		g := c.did(2+len(part), "SREM", c.Args[1])
		for i := range part {
			didValue(g, &part[i])
		}
	}
}

// SSCAN key cursor [MATCH pattern] [COUNT count]
func sscan(c *Ctx) resp.Value {
	var text []byte
	return scanElements(c, readSet, func(s *set.Set, cursor uint64, page *scanPage) uint64 {
		return s.Scan(cursor, func(m set.Member) {
			if page.pattern != nil {
				text = m.AppendText(text[:0])
			}
			if page.matches(text) {
				page.items = append(page.items, setMember(m))
			}
		})
	})
}
