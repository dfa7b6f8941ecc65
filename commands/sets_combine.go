package commands

import (
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/set"
)

// A combination computes a new set from several, which are nil if they do not exist.
// As in Redis, the result is not an intset if it ever exceeded maxInts or had another
// member than integers, which OBJECT ENCODING shows.
type combination func(sets []*set.Set, maxInts int) *set.Set

func readSets(c *Ctx, keys [][]byte) ([]*set.Set, resp.Value) {
	sets := make([]*set.Set, len(keys))
	for i, k := range keys {
		var refusal resp.Value
		if sets[i], refusal = setOf(c.DB.Lookup(k, c.NowMs)); refusal.IsError() {
			return nil, refusal
		}
	}
	return sets, resp.None
}

// replyCombined handles SUNION and SDIFF key [key ...].
func replyCombined(c *Ctx, combine combination) resp.Value {
	sets, refusal := readSets(c, c.Args[1:])
	if refusal.IsError() {
		return refusal
	}
	return allMembers(c, combine(sets, maxInts(c)))
}

// storeCombined handles SINTERSTORE, SUNIONSTORE and SDIFFSTORE destination key
// [key ...].
func storeCombined(c *Ctx, combine combination) resp.Value {
	sets, refusal := readSets(c, c.Args[2:])
	if refusal.IsError() {
		return refusal
	}
	return storeResult(c, c.Args[1], combine(sets, maxInts(c)))
}

// storeResult stores a collection in key, or deletes key if it is empty, and returns
// its size as a reply.
func storeResult(c *Ctx, key []byte, result store.Value) resp.Value {
	old := c.DB.Find(key, c.NowMs) // in any case, because it removes an expired key
	size := result.Len()
	if size > 0 {
		c.DB.Put(key, result)
	} else if old != nil {
		c.DB.Delete(old)
	}
	return resp.Int(int64(size))
}

// SINTER key [key ...]
func sinter(c *Ctx) resp.Value {
	sets, refusal := readSets(c, c.Args[1:])
	if refusal.IsError() {
		return refusal
	}
	out := c.Build(0)
	eachCommon(sets, func(m set.Member) bool { return out.Add(setMember(m)) })
	return out.Set()
}

// SINTERCARD numkeys key [key ...] [LIMIT limit]
func sinterCard(c *Ctx) resp.Value {
	count, ok := parseInt(c.Args[1])
	switch {
	case !ok || count < 1:
		return ErrNumKeys
	case count > int64(len(c.Args)-2):
		return errTooManyKeys
	}
	keys, limit := c.Args[2:2+count], int64(0)
	for o := (options{c.Args[2+count:]}); o.more(); {
		if !o.wordWith("limit", 1) {
			return ErrSyntax
		}
		if limit, ok = parseInt(o.value()); !ok || limit < 0 {
			return errNegativeLimit
		}
	}
	sets, refusal := readSets(c, keys)
	if refusal.IsError() {
		return refusal
	}
	common := int64(0)
	eachCommon(sets, func(set.Member) bool {
		common++
		return common != limit
	})
	return resp.Int(common)
}

// eachCommon calls fn for each member of the intersection, in the order of the
// smallest set, until fn returns false.
func eachCommon(sets []*set.Set, fn func(set.Member) bool) {
	if slices.Contains(sets, nil) {
		return
	}
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b *set.Set) int { return a.Len() - b.Len() })
	for m := range sets[0].All() {
		if inAll(sets[1:], m) && !fn(m) {
			return
		}
	}
}

func inAll(sets []*set.Set, m set.Member) bool {
	for _, s := range sets {
		if !s.ContainsMember(m) {
			return false
		}
	}
	return true
}

func inAny(sets []*set.Set, m set.Member) bool {
	for _, s := range sets {
		if s != nil && s.ContainsMember(m) {
			return true
		}
	}
	return false
}

func intersection(sets []*set.Set, maxInts int) *set.Set {
	out := &set.Set{}
	eachCommon(sets, func(m set.Member) bool {
		out.AddMember(m, maxInts)
		return true
	})
	return out
}

func union(sets []*set.Set, maxInts int) *set.Set {
	out := &set.Set{}
	for _, s := range sets {
		if s != nil {
			addAll(out, s, maxInts)
		}
	}
	return out
}

func addAll(out, s *set.Set, maxInts int) {
	for m := range s.All() {
		out.AddMember(m, maxInts)
	}
}

// difference is the combination of SDIFF. Like Redis, it either looks up each member
// of the first set in the others, or removes the members of the others from a copy of
// the first, whichever is less work, preferring the former.
func difference(sets []*set.Set, maxInts int) *set.Set {
	out := &set.Set{}
	first, others := sets[0], sets[1:]
	if first == nil || slices.Contains(others, first) {
		return out
	}
	lookups, removals := first.Len(), first.Len()
	for _, s := range others {
		if s != nil {
			lookups += first.Len()
			removals += s.Len()
		}
	}
	if lookups/2 <= removals {
		for m := range first.All() {
			if !inAny(others, m) {
				out.AddMember(m, maxInts)
			}
		}
		return out
	}
	addAll(out, first, maxInts)
	for _, s := range others {
		if s == nil || out.Len() == 0 {
			continue
		}
		for m := range s.All() {
			out.RemoveMember(m)
		}
	}
	return out
}
