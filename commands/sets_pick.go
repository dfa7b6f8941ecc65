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
	case p.draws(c, s.Len()):
		all := newDrawn(c, p, s.Len())
		for m := range s.All() {
			all.add(setMember(m), resp.None)
		}
		return all.reply(c)
	case p.repeats:
		out := c.Build(p.capacity())
		for range p.count {
			if !out.Add(setMember(s.Random(rand.Uint64N))) {
				break
			}
		}
		return out.Array()
	}
	n := int(min(p.count, int64(s.Len())))
	out := c.Build(n)
	s.Sample(n, rand.Uint64N, func(m set.Member) { out.Add(setMember(m)) })
	return out.Array()
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
		c.didPop([]set.Member{m})
		return setMember(m)
	case count >= int64(s.Len()):
		out := allMembers(c, s)
		c.note(eventSPop, c.Args[1])
		c.DB.Delete(n)
		c.DidCall("DEL", c.Args[1])
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
	popped := make([]set.Member, 0, count)
	if remaining := s.Len() - count; remaining*rebuildRatio <= count {
		kept := &set.Set{}
		s.Sample(remaining, rand.Uint64N, func(m set.Member) { kept.AddMember(m, maxInts(c)) })
		for m := range s.All() {
			if !kept.ContainsMember(m) {
				popped = append(popped, m)
			}
		}
		store.Replace(n, kept)
	} else {
		s.Sample(count, rand.Uint64N, func(m set.Member) { popped = append(popped, m) })
		for _, m := range popped {
			s.RemoveMember(m)
		}
	}
	c.DB.Modified(n)
	c.didPop(popped)
	out := c.Build(count)
	for _, m := range popped {
		if !out.Add(setMember(m)) {
			break
		}
	}
	return out.Set()
}

// maxLoggedRemovals is the maximum number of members in a logged SREM, so that its
// length is bounded.
const maxLoggedRemovals = 1024

func (c *Ctx) didPop(members []set.Member) {
	if c.Group() == nil {
		return
	}
	for part := range slices.Chunk(members, maxLoggedRemovals) {
		g := c.Did(2+len(part), "SREM", c.Args[1])
		for i := range part {
			member := setMember(part[i])
			didValue(g, &member)
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
				page.items.Add(setMember(m))
			}
		})
	})
}
