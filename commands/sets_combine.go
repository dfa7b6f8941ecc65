package commands

import (
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/set"
)

// A combination makes a new set from several, of which those that do not exist
// are nil and none is changed. The result is an intset until it outgrows
// maxInts or something else comes, even where that goes again: OBJECT ENCODING
// then tells of the way, which is Redis'.
type combination func(sets []*set.Set, maxInts int) *set.Set

// readSets looks several keys up for reading.
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

// answerCombined runs SUNION and SDIFF key [key ...].
func answerCombined(c *Ctx, combine combination) resp.Value {
	sets, refusal := readSets(c, c.Args[1:])
	if refusal.IsError() {
		return refusal
	}
	return allMembers(c, combine(sets, maxInts(c)))
}

// storeCombined runs SINTERSTORE, SUNIONSTORE and SDIFFSTORE destination key
// [key ...].
func storeCombined(c *Ctx, combine combination) resp.Value {
	sets, refusal := readSets(c, c.Args[2:])
	if refusal.IsError() {
		return refusal
	}
	return storeResult(c, c.Args[1], combine(sets, maxInts(c)))
}

// storeResult makes key hold a collection whatever it held before, or nothing
// where the collection is empty, and answers its size.
func storeResult(c *Ctx, key []byte, result interface{ Len() int }) resp.Value {
	old := c.DB.Find(key, c.NowMs) // in any case: one that is overdue goes for that
	if result.Len() > 0 {
		c.DB.Put(key, result)
	} else if old != nil {
		c.DB.Delete(old)
	}
	return resp.Int(int64(result.Len()))
}

// SINTER key [key ...]
func sinter(c *Ctx) resp.Value {
	sets, refusal := readSets(c, c.Args[1:])
	if refusal.IsError() {
		return refusal
	}
	var out []resp.Value
	eachCommon(sets, func(m set.Member) bool {
		out = append(out, setMember(m))
		return true
	})
	return resp.Set(out...)
}

// SINTERCARD numkeys key [key ...] [LIMIT limit]
func sinterCard(c *Ctx) resp.Value {
	count, ok := parseInt(c.Args[1])
	switch {
	case !ok || count < 1:
		return errNumKeys
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

// eachCommon calls fn with the members that all of the sets have, until it
// returns false. It walks over the smallest set, in that one's order.
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

// intersect is the combination of SINTERSTORE.
func intersect(sets []*set.Set, maxInts int) *set.Set {
	out := &set.Set{}
	eachCommon(sets, func(m set.Member) bool {
		out.AddMember(m, maxInts)
		return true
	})
	return out
}

// unite is the combination of SUNION.
func unite(sets []*set.Set, maxInts int) *set.Set {
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

// subtract is the combination of SDIFF. As Redis does it either asks the other
// sets about each member of the first, or copies the first and removes what
// the others have, whichever is less work, with an advantage for the former.
func subtract(sets []*set.Set, maxInts int) *set.Set {
	out := &set.Set{}
	first, others := sets[0], sets[1:]
	if first == nil || slices.Contains(others, first) {
		return out
	}
	asking, removing := first.Len(), first.Len()
	for _, s := range others {
		if s != nil {
			asking += first.Len()
			removing += s.Len()
		}
	}
	if asking/2 <= removing {
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
