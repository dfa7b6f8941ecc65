package commands

import (
	"math"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

type rangeBy uint8

const (
	byRank rangeBy = iota
	byScore
	byLex
)

// A rangeQuery holds the arguments of a range command except its key.
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
	q, refusal := parseRange(c.Args[2:], true)
	if refusal.IsError() {
		return refusal
	}
	return q.run(c)
}

// parseRange parses a range with its options, which include WITHSCORES if allowScores.
func parseRange(args [][]byte, allowScores bool) (*rangeQuery, resp.Value) {
	q := &rangeQuery{count: -1, lo: args[0], hi: args[1]}
	for o := (options{args[2:]}); o.more(); {
		switch {
		case allowScores && o.word("withscores"):
			q.withScores = true
		case o.wordWith("limit", 2):
			if refusal := q.limit(&o); refusal.IsError() {
				return nil, refusal
			}
		case !q.rev && o.word("rev"):
			q.rev = true
		case q.by == byRank && o.word("bylex"):
			q.by = byLex
		case q.by == byRank && o.word("byscore"):
			q.by = byScore
		default:
			return nil, ErrSyntax
		}
	}
	if q.count != -1 && q.by == byRank {
		return nil, errLimitNeedsBy
	}
	if q.withScores && q.by == byLex {
		return nil, errScoresWithLex
	}
	if q.rev && q.by != byRank {
		q.lo, q.hi = q.hi, q.lo
	}
	return q, resp.None
}

// zrangeFixed handles the older commands, whose names determine kind and direction.
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

// A rankFunc converts a range to ranks [start, stop) in a set.
type rankFunc func(s *zset.Set) (start, stop int)

// parse parses the ends. It must run before the key is looked up, because an invalid
// range fails whatever the key holds.
func (q *rangeQuery) parse() (rankFunc, resp.Value) {
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
			return func(s *zset.Set) (int, int) { return s.RankRangeByLexReverse(r) }, resp.None
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

// rankRange converts inclusive ranks, counted from the end if negative, to a range
// [lo, hi) within n members.
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
	ranks, refusal := q.parse()
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
	start, stop := ranks(s)
	size := q.size(start, stop)
	if size == 0 {
		return resp.Empty
	}
	out := newEntryList(c, size, q.withScores, c.Proto == resp.RESP3)
	q.walk(s, start, stop, size, out.add)
	return out.Array()
}

// size returns how many entries LIMIT leaves of the ranks [start, stop).
func (q *rangeQuery) size(start, stop int) int {
	size := int64(stop - start)
	if q.by == byRank {
		q.offset = 0 // LIMIT offset -1 is accepted and has no effect
	}
	if q.offset < 0 || q.offset >= size {
		return 0
	}
	size -= q.offset
	if q.count >= 0 {
		size = min(size, q.count)
	}
	return int(max(size, 0))
}

// walk calls fn for size entries of the ranks [start, stop), at least one, in the
// direction of the query, until fn returns false.
func (q *rangeQuery) walk(s *zset.Set, start, stop, size int, fn func(zset.Entry) bool) {
	visit := func(e zset.Entry) bool {
		size--
		return fn(e) && size > 0
	}
	if q.rev {
		s.Descend(stop-1-int(q.offset), visit)
	} else {
		s.Ascend(start+int(q.offset), visit)
	}
}

// ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]
func zrangeStore(c *Ctx) resp.Value {
	q, refusal := parseRange(c.Args[3:], false)
	if refusal.IsError() {
		return refusal
	}
	ranks, refusal := q.parse()
	if refusal.IsError() {
		return refusal
	}
	s, refusal := zsetOf(c.DB.Lookup(c.Args[2], c.NowMs))
	if refusal.IsError() {
		return refusal
	}
	result := &zset.Set{}
	if s != nil {
		start, stop := ranks(s)
		if size := q.size(start, stop); size > 0 {
			q.store(c, s, result, start, stop, size)
		}
	}
	return storeResult(c, c.Args[1], result)
}

// store copies size entries of the ranks [start, stop) into a new set.
func (q *rangeQuery) store(c *Ctx, from, to *zset.Set, start, stop, size int) {
	maxCount, maxValue := c.Settings.ZSetMaxListpackCount, c.Settings.ZSetMaxListpackValue
	// Redis adds the entries one by one. For ranks only, it knows in advance that
	// there are too many for a listpack, in which -0 becomes 0.
	listpack := q.by != byRank || int64(size) <= maxCount
	var text []byte
	entries := make([]zset.Entry, 0, size)
	q.walk(from, start, stop, size, func(e zset.Entry) bool {
		text = e.AppendMember(text[:0])
		listpack = listpack && int64(len(text)) <= maxValue && int64(len(entries)) < maxCount
		if listpack && e.Score == 0 {
			e.Score = 0
		}
		entries = append(entries, e)
		return true
	})
	if q.rev {
		slices.Reverse(entries) // appending at the end is cheapest
	}
	for _, e := range entries {
		text = e.AppendMember(text[:0])
		to.Add(text, e.Score)
	}
	to.NoteEncoding(int(maxCount), int(maxValue))
}

// An entryList collects members and optionally their scores, as pairs or flat.
type entryList struct {
	Builder
	withScores bool
	paired     bool
}

func newEntryList(c *Ctx, n int, withScores, paired bool) entryList {
	if withScores && !paired {
		n = saturatingDouble(n)
	}
	return entryList{c.Build(n), withScores, withScores && paired}
}

func saturatingDouble(n int) int {
	if n > math.MaxInt/2 {
		return math.MaxInt
	}
	return 2 * n
}

func (l *entryList) add(e zset.Entry) bool { return l.addMember(memberValue(e), e.Score) }

func (l *entryList) addMember(member resp.Value, score float64) bool {
	switch {
	case l.paired:
		return l.AddArray(member, resp.Double(score))
	case l.withScores:
		return l.AddPair(member, resp.Double(score))
	}
	return l.Add(member)
}
