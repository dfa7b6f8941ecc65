package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

// rangeBy says what the ends of a range are.
type rangeBy uint8

const (
	byRank rangeBy = iota
	byScore
	byLex
)

// rangeQuery is a range command without its key.
type rangeQuery struct {
	by         rangeBy
	rev        bool
	withScores bool
	offset     int64
	count      int64 // negative: all
	lo, hi     []byte
}

// ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
func zrange(c *Ctx) resp.Value {
	q := rangeQuery{count: -1, lo: c.Args[2], hi: c.Args[3]}
	for o := (options{c.Args[4:]}); o.more(); {
		switch {
		case o.word("withscores"):
			q.withScores = true
		case o.wordWith("limit", 2):
			if refusal := q.limit(&o); refusal.IsError() {
				return refusal
			}
		case !q.rev && o.word("rev"):
			q.rev = true
		case q.by == byRank && o.word("bylex"):
			q.by = byLex
		case q.by == byRank && o.word("byscore"):
			q.by = byScore
		default:
			return ErrSyntax
		}
	}
	if q.count != -1 && q.by == byRank {
		return errLimitNeedsBy
	}
	if q.withScores && q.by == byLex {
		return errScoresWithLex
	}
	if q.rev && q.by != byRank {
		q.lo, q.hi = q.hi, q.lo
	}
	return q.run(c)
}

// zrangeFixed runs the older commands, whose name says the kind and direction.
func zrangeFixed(c *Ctx, by rangeBy, rev bool) resp.Value {
	q := rangeQuery{by: by, rev: rev, count: -1, lo: c.Args[2], hi: c.Args[3]}
	for o := (options{c.Args[4:]}); o.more(); {
		switch {
		case o.word("withscores"):
			q.withScores = true
		case o.wordWith("limit", 2):
			if refusal := q.limit(&o); refusal.IsError() {
				return refusal
			}
		default:
			return ErrSyntax
		}
	}
	if q.count != -1 && q.by == byRank {
		return errLimitNeedsBy
	}
	if q.withScores && q.by == byLex {
		return errScoresWithLex
	}
	if rev && by != byRank {
		q.lo, q.hi = q.hi, q.lo
	}
	return q.run(c)
}

func (q *rangeQuery) limit(o *options) (refusal resp.Value) {
	if q.offset, refusal = toInt(o.value()); refusal.IsError() {
		return refusal
	}
	q.count, refusal = toInt(o.value())
	return refusal
}

// ranks is a range turned into ranks of a set, half-open, lowest first.
type ranks func(s *zset.Set) (start, stop int)

// parse reads the ends before the key is looked up, so that a bad range is
// told whatever the key holds.
func (q *rangeQuery) parse() (ranks, resp.Value) {
	switch q.by {
	case byScore:
		r, ok := parseScoreRange(q.lo, q.hi)
		if !ok {
			return nil, errMinMaxFloat
		}
		return func(s *zset.Set) (int, int) { return s.RankRangeByScore(r) }, resp.None
	case byLex:
		r, ok := parseLexRange(q.lo, q.hi)
		if !ok {
			return nil, errMinMaxLex
		}
		if q.rev {
			return func(s *zset.Set) (int, int) { return s.RankRangeByLexFromTop(r) }, resp.None
		}
		return func(s *zset.Set) (int, int) { return s.RankRangeByLex(r) }, resp.None
	}
	start, refusal := toInt(q.lo)
	if refusal.IsError() {
		return nil, refusal
	}
	stop, refusal := toInt(q.hi)
	if refusal.IsError() {
		return nil, refusal
	}
	return func(s *zset.Set) (int, int) {
		lo, hi := rankRange(start, stop, s.Len())
		if q.rev {
			lo, hi = s.Len()-hi, s.Len()-lo
		}
		return lo, hi
	}, resp.None
}

// rankRange turns ranks as users give them, inclusive and negative from the
// end, into a half-open range within n members.
func rankRange(start, stop int64, n int) (lo, hi int) {
	if start < 0 {
		start = max(start+int64(n), 0)
	}
	if stop < 0 {
		stop += int64(n)
	}
	stop = min(stop, int64(n)-1)
	if start > stop {
		return 0, 0
	}
	return int(start), int(stop) + 1
}

func (q *rangeQuery) run(c *Ctx) resp.Value {
	find, refusal := q.parse()
	if refusal.IsError() {
		return refusal
	}
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Empty
	}
	start, stop := find(s)
	size := int64(stop - start)
	if q.by == byRank {
		q.offset = 0 // LIMIT offset -1 is let through and means nothing
	}
	if q.offset < 0 || q.offset >= size {
		return resp.Empty
	}
	size -= q.offset
	if q.count >= 0 {
		size = min(size, q.count)
	}
	if size <= 0 {
		return resp.Empty
	}

	out := newEntryList(c, int(size), q.withScores, c.Proto == resp.RESP3)
	take := func(e zset.Entry) bool {
		out.add(e)
		size--
		return size > 0
	}
	if q.rev {
		s.Descend(stop-1-int(q.offset), take)
	} else {
		s.Ascend(start+int(q.offset), take)
	}
	return out.reply()
}

// entryList collects members, with scores where asked: flat, or as pairs.
type entryList struct {
	c          *Ctx
	withScores bool
	paired     bool
	values     []resp.Value
}

func newEntryList(c *Ctx, n int, withScores, paired bool) entryList {
	if withScores && !paired {
		n = saturatingDouble(n)
	}
	return entryList{c, withScores, withScores && paired, c.Values(n)}
}

func saturatingDouble(n int) int {
	if n > math.MaxInt/2 {
		return math.MaxInt
	}
	return 2 * n
}

func (l *entryList) add(e zset.Entry) {
	switch {
	case l.paired:
		l.values = append(l.values, resp.Array(append(l.c.Values(2), memberValue(e), resp.Double(e.Score))...))
	case l.withScores:
		l.values = append(l.values, memberValue(e), resp.Double(e.Score))
	default:
		l.values = append(l.values, memberValue(e))
	}
}

func (l *entryList) reply() resp.Value { return resp.Array(l.values...) }
