package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A multiPop is the arguments that LMPOP, ZMPOP, BLMPOP and BZMPOP share:
// numkeys key [key ...] <first | second> [COUNT count].
type multiPop struct {
	keys   [][]byte
	second bool // the second word was given
	count  int64
}

// parseMultiPop reads a multiPop; first and second are its words for the ends.
func parseMultiPop(args [][]byte, first, second string) (m multiPop, refusal resp.Value) {
	numKeys, ok := parseInt(args[0])
	if !ok || numKeys < 1 {
		return m, ErrNumKeys
	}
	if numKeys >= int64(len(args)-1) {
		return m, ErrSyntax
	}
	m = multiPop{keys: args[1 : 1+numKeys], count: -1}
	o := options{args[1+numKeys:]}
	if m.second = o.word(second); !m.second && !o.word(first) {
		return m, ErrSyntax
	}
	for o.more() {
		if m.count >= 0 || !o.wordWith("count", 1) {
			return m, ErrSyntax
		}
		if m.count, ok = parseInt(o.value()); !ok || m.count < 1 {
			return m, errCountPositive
		}
	}
	m.count = max(m.count, 1)
	return m, resp.None
}

// lists returns the popper for lists.
func (m multiPop) lists() popper {
	end, count := listEnd(m.second), m.count
	return popper{isList, func(c *Ctx, n *store.Node) resp.Value {
		l := store.ListOf(n)
		size := int(min(count, int64(l.Len())))
		c.changesAre(end.popEvent())
		c.didPopMany(n, end.popName(), size)
		elements := c.Build(size)
		for range size {
			elements.Add(resp.Bulk(popAt(l, end)))
		}
		return c.popped(n, elements.Array())
	}}
}

// sortedSets returns the popper for sorted sets.
func (m multiPop) sortedSets() popper {
	highest, count := m.second, m.count
	return popper{isZSet, func(c *Ctx, n *store.Node) resp.Value {
		s := store.ZSetOf(n)
		size := int(min(count, int64(s.Len())))
		c.changesAre(zpopEvent(highest))
		c.didPopMany(n, zpopName(highest), size)
		members := newEntryList(c, size, true, true)
		for range size {
			rank, end := 0, 1
			if highest {
				rank, end = s.Len()-1, math.MaxInt
			}
			members.add(s.At(rank))
			s.RemoveByRank(rank, end)
		}
		return c.popped(n, members.Array())
	}}
}

// popped returns the reply: a key and the elements that were removed from it.
func (c *Ctx) popped(n *store.Node, elements resp.Value) resp.Value {
	out := c.Build(2)
	out.AddPair(resp.Bulk(n.Key()), elements)
	c.DB.Modified(n)
	return out.Array()
}

// didPopMany records that several elements were removed at an end.
func (c *Ctx) didPopMany(n *store.Node, name string, count int) {
	if g := c.Group(); g != nil {
		g.Begin(c.DB.ID(), 3)
		g.Text(name)
		g.Text(n.Key())
		g.Int(int64(count))
	}
}

// LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
func lmpop(c *Ctx) resp.Value {
	m, refusal := parseMultiPop(c.Args[1:], "left", "right")
	if refusal.IsError() {
		return refusal
	}
	return popNow(c, m.keys, m.lists())
}

// ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]
func zmpop(c *Ctx) resp.Value {
	m, refusal := parseMultiPop(c.Args[1:], "min", "max")
	if refusal.IsError() {
		return refusal
	}
	return popNow(c, m.keys, m.sortedSets())
}

// BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
func blmpop(c *Ctx) resp.Value {
	m, refusal := parseMultiPop(c.Args[2:], "left", "right")
	if refusal.IsError() {
		return refusal
	}
	return popOrBlock(c, m.keys, c.Args[1], m.lists())
}

// BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]
func bzmpop(c *Ctx) resp.Value {
	m, refusal := parseMultiPop(c.Args[2:], "min", "max")
	if refusal.IsError() {
		return refusal
	}
	return popOrBlock(c, m.keys, c.Args[1], m.sortedSets())
}
