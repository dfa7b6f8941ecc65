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
	p, s, reply := pickFrom(c, "withscores", readZSet)
	switch {
	case s == nil:
		return reply
	case p.single:
		return memberValue(s.Random(rand.Uint64N))
	case p.repeats:
		return randomWithRepeats(c, s, p)
	}
	return randomDistinct(c, s, p)
}

// randomWithRepeats picks p.count times, each time among all members.
func randomWithRepeats(c *Ctx, s *zset.Set, p pick) resp.Value {
	out := newEntryList(c, p.room(), p.with, c.Proto == resp.RESP3)
	for range p.count {
		out.add(s.Random(rand.Uint64N))
	}
	return out.reply()
}

// randomDistinct picks p.count different members, in order of rank.
func randomDistinct(c *Ctx, s *zset.Set, p pick) resp.Value {
	walk := selection{need: int(min(p.count, int64(s.Len()))), left: s.Len()}
	out := newEntryList(c, walk.need, p.with, c.Proto == resp.RESP3)
	s.Ascend(0, func(e zset.Entry) bool {
		if walk.takes() {
			out.add(e)
		}
		return !walk.done()
	})
	return out.reply()
}

// appendScanned spells a score as ZSCAN does: it hands out what a listpack
// holds, where every integral score up to half of int64's range is an integer.
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
			if page.wants(text) {
				page.items = append(page.items, memberValue(e), c.Copy(appendScanned(digits[:0], e.Score, s.IsListpack())))
			}
		})
	})
}
