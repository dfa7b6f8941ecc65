package commands

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

// ZRANDMEMBER key [count [WITHSCORES]]
func zrandMember(c *Ctx) resp.Value {
	p, s, reply := readRandomQuery(c, "withscores", readZSet)
	switch {
	case s == nil:
		return reply
	case p.single:
		return memberValue(s.Random(rand.Uint64N))
	case p.draws(c, s.Len()):
		all := newDrawn(c, p, s.Len())
		s.Ascend(0, func(e zset.Entry) bool {
			all.add(memberValue(e), resp.Double(e.Score))
			return true
		})
		return all.reply(c)
	case p.repeats:
		return randomWithRepeats(c, s, p)
	}
	return randomDistinct(c, s, p)
}

// randomWithRepeats returns p.count random members, which may repeat.
func randomWithRepeats(c *Ctx, s *zset.Set, p randomQuery) resp.Value {
	out := newEntryList(c, p.capacity(), p.withValues, c.Proto == resp.RESP3)
	for range p.count {
		if !out.add(s.Random(rand.Uint64N)) {
			break
		}
	}
	return out.Array()
}

// randomDistinct returns p.count distinct random members, in order of rank.
func randomDistinct(c *Ctx, s *zset.Set, p randomQuery) resp.Value {
	walk := selection{needed: int(min(p.count, int64(s.Len()))), remaining: s.Len()}
	out := newEntryList(c, walk.needed, p.withValues, c.Proto == resp.RESP3)
	s.Ascend(0, func(e zset.Entry) bool {
		if walk.selects() {
			return out.add(e) && !walk.done()
		}
		return true
	})
	return out.Array()
}

// appendScanned appends a score in the format of ZSCAN, which returns what listpacks
// store: integral scores up to half of int64's range are integers.
func appendScanned(b []byte, score float64, listpack bool) []byte {
	if listpack && score == math.Trunc(score) && math.Abs(score) <= math.MaxInt64/2 {
		return strconv.AppendInt(b, int64(score), 10)
	}
	return resp.AppendFloat(b, score)
}

// ZSCAN key cursor [MATCH pattern] [COUNT count]
func zscan(c *Ctx) resp.Value {
	var (
		text   []byte
		digits [32]byte
	)
	return scanElements(c, readZSet, func(s *zset.Set, cursor uint64, page *scanPage) uint64 {
		return s.Scan(cursor, func(e zset.Entry) {
			if page.pattern != nil {
				text = e.AppendMember(text[:0])
			}
			if page.matches(text) {
				score := c.Copy(appendScanned(digits[:0], e.Score, s.IsListpack()))
				page.items.AddPair(memberValue(e), score)
			}
		})
	})
}
