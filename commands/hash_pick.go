package commands

import (
	"math/rand/v2"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/hash"
)

// HRANDFIELD key [count [WITHVALUES]]
func hrandField(c *Ctx) resp.Value {
	p, h, reply := readRandomQuery(c, "withvalues", readHash)
	switch {
	case h == nil:
		return reply
	case p.single:
		field, _ := h.Random(rand.Uint64N)
		return c.Copy(field)
	case p.draws(c, h.Len()):
		all := newDrawn(c, p, h.Len())
		h.All(func(field, value []byte) bool {
			all.add(resp.BulkBytes(field), resp.BulkBytes(value))
			return true
		})
		return all.reply(c)
	case p.repeats:
		out := newFieldList(c, p.capacity(), p.withValues)
		for range p.count {
			if !out.add(h.Random(rand.Uint64N)) {
				break
			}
		}
		return out.Array()
	}
	need := int(min(p.count, int64(h.Len())))
	out := newFieldList(c, need, p.withValues)
	if need < h.Len()/4 {
		distinctFields(h, need, out.add)
	} else {
		walkFields(h, need, out.add)
	}
	return out.Array()
}

// distinctFields picks need different fields. It is for a small part of all fields, so
// that few picks repeat.
func distinctFields(h *hash.Hash, need int, add func(field, value []byte) bool) {
	picked := make(map[string]struct{}, need)
	for len(picked) < need {
		field, value := h.Random(rand.Uint64N)
		if _, again := picked[string(field)]; again {
			continue
		}
		picked[string(field)] = struct{}{}
		if !add(field, value) {
			return
		}
	}
}

// walkFields picks need different fields, in order.
func walkFields(h *hash.Hash, need int, add func(field, value []byte) bool) {
	walk := selection{needed: need, remaining: h.Len()}
	h.All(func(field, value []byte) bool {
		return (!walk.selects() || add(field, value)) && !walk.done()
	})
}

// A fieldList collects fields, with their values if wanted: flat, or in RESP3 as pairs.
type fieldList struct {
	Builder
	withValues bool
}

func newFieldList(c *Ctx, n int, withValues bool) fieldList {
	if withValues && c.Proto != resp.RESP3 {
		n *= 2
	}
	return fieldList{c.Build(n), withValues}
}

func (l *fieldList) add(field, value []byte) bool {
	switch {
	case l.withValues && l.c.Proto == resp.RESP3:
		return l.AddArray(l.c.Copy(field), l.c.Copy(value))
	case l.withValues:
		return l.AddPair(l.c.Copy(field), l.c.Copy(value))
	}
	return l.Add(l.c.Copy(field))
}

// HSCAN key cursor [MATCH pattern] [COUNT count]
func hscan(c *Ctx) resp.Value {
	return scanElements(c, readHash, func(h *hash.Hash, cursor uint64, page *scanPage) uint64 {
		return h.Scan(cursor, func(field, value []byte) {
			if page.matches(field) {
				page.items.Add(c.Copy(field))
				page.items.Add(c.Copy(value))
			}
		})
	})
}
