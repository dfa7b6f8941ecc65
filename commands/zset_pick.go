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
	if len(c.Args) == 2 {
		s, refusal := readZSet(c)
		if refusal.IsError() {
			return refusal
		}
		if s == nil {
			return resp.Null
		}
		return memberValue(s.Random(rand.Uint64N))
	}

	count, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	if count == math.MinInt64 {
		return errLongRange
	}
	withScores := len(c.Args) == 4 && EqualFold(c.Args[3], "withscores")
	if len(c.Args) > 4 || len(c.Args) == 4 && !withScores {
		return ErrSyntax
	}
	if withScores && (count < -math.MaxInt64/2 || count > math.MaxInt64/2) {
		return errValueRange
	}
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil || count == 0 {
		return resp.Empty
	}
	if count < 0 {
		return randomWithRepeats(c, s, -count, withScores)
	}
	return randomDistinct(c, s, count, withScores)
}

// randomWithRepeats picks count times, each time among all members.
func randomWithRepeats(c *Ctx, s *zset.Set, count int64, withScores bool) resp.Value {
	// The count is the client's word: memory follows what is picked, not it.
	out := newEntryList(c, int(min(count, 1024)), withScores, c.Proto == resp.RESP3)
	for range count {
		out.add(s.Random(rand.Uint64N))
	}
	return out.reply()
}

// randomDistinct picks count different members, in order of rank: a walk over
// the ranks that takes each with the chance it still needs (selection
// sampling, Knuth's algorithm S).
func randomDistinct(c *Ctx, s *zset.Set, count int64, withScores bool) resp.Value {
	left := s.Len()
	need := int(min(count, int64(left)))
	out := newEntryList(c, need, withScores, c.Proto == resp.RESP3)
	s.Ascend(0, func(e zset.Entry) bool {
		if rand.IntN(left) < need {
			out.add(e)
			need--
		}
		left--
		return need > 0
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
	cursor, refusal := parseCursor(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return scanReply(c, 0, nil)
	}
	opts, refusal := parseScanOptions(c.Args[3:], false)
	if refusal.IsError() {
		return refusal
	}
	var (
		out    []resp.Value
		text   []byte
		digits [32]byte
		seen   int
	)
	for {
		cursor = s.Scan(cursor, func(e zset.Entry) {
			seen++
			if opts.pattern != nil {
				text = e.AppendMember(text[:0])
				if !GlobMatch(opts.pattern, string(text)) {
					return
				}
			}
			out = append(out, memberValue(e), c.Copy(appendScanned(digits[:0], e.Score, s.IsListpack())))
		})
		if cursor == 0 || seen >= opts.count {
			return scanReply(c, cursor, out)
		}
	}
}
