package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

// SortedSets are the commands on sorted sets except SortedSetCombinations. Handlers
// that add members are in zset_add.go, those that return ranges in zset_range.go, those
// that remove members in zset_remove.go, random members and ZSCAN in zset_pick.go.
var SortedSets = []Command{
	{
		Name: "bzmpop", Arity: -5, Flags: Write | Blocking,
		Keys:  []KeySpec{CountedKeys(2, "RW access delete")},
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(K+M*log(N))", Handler: bzmpop,
		Syntax: "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
		Summary: "Removes the lowest or highest members of one of several sorted sets, " +
			"or blocks until there is one.",
	},
	{
		Name: "bzpopmax", Event: "zpopmax", Arity: -3, Flags: Write | NoScript | Blocking | Fast,
		Keys:  []KeySpec{{Flags: "RW access delete", First: 1, Last: -2, Step: 1}},
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N))", Syntax: "key [key ...] timeout",
		Summary: "Removes the highest member of one of several sorted sets, or blocks until there is one.",
		Handler: func(c *Ctx) resp.Value { return bzpop(c, true) },
	},
	{
		Name: "bzpopmin", Event: "zpopmin", Arity: -3, Flags: Write | NoScript | Blocking | Fast,
		Keys:  []KeySpec{{Flags: "RW access delete", First: 1, Last: -2, Step: 1}},
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N))", Syntax: "key [key ...] timeout",
		Summary: "Removes the lowest member of one of several sorted sets, or blocks until there is one.",
		Handler: func(c *Ctx) resp.Value { return bzpop(c, false) },
	},
	{
		Name: "zadd", Event: "zadd", Arity: -4, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW update")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N))", Handler: zadd,
		Syntax:  "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
		Summary: "Adds members with scores, or changes the scores of members.",
	},
	{
		Name: "zcard", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(1)", Syntax: "key", Handler: zcard,
		Summary: "Counts the members.",
	},
	{
		Name: "zcount", Arity: 4, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N))", Syntax: "key min max", Handler: zcount,
		Summary: "Counts the members in a range of scores.",
	},
	{
		Name: "zincrby", Event: "zincr", Arity: 4, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N))",
		Syntax: "key increment member", Handler: zincrBy,
		Summary: "Adds to the score of a member.",
	},
	{
		Name: "zlexcount", Arity: 4, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N))",
		Syntax: "key min max", Handler: zlexCount,
		Summary: "Counts the members in a lexicographical range.",
	},
	{
		Name: "zmpop", Arity: -4, Flags: Write, Keys: []KeySpec{CountedKeys(1, "RW access delete")},
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(K+M*log(N))", Handler: zmpop,
		Syntax:  "numkeys key [key ...] <MIN | MAX> [COUNT count]",
		Summary: "Removes the lowest or highest members of the first of several sorted sets that has any.",
	},
	{
		Name: "zmscore", Arity: -3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N)",
		Syntax: "key member [member ...]", Handler: zmscore,
		Summary: "Returns the scores of several members.",
	},
	{
		Name: "zpopmax", Event: "zpopmax", Arity: -2, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete")},
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N)*M)", Syntax: "key [count]",
		Summary: "Removes and returns the highest members.",
		Handler: func(c *Ctx) resp.Value { return zpop(c, true) },
	},
	{
		Name: "zpopmin", Event: "zpopmin", Arity: -2, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete")},
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N)*M)", Syntax: "key [count]",
		Summary: "Removes and returns the lowest members.",
		Handler: func(c *Ctx) resp.Value { return zpop(c, false) },
	},
	{
		Name: "zrandmember", Arity: -2, Flags: ReadOnly | Random, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N)",
		Syntax: "key [count [WITHSCORES]]", Handler: zrandMember,
		Summary: "Returns random members.",
	},
	{
		Name: "zrange", Arity: -4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)+M)", Handler: zrange,
		Syntax:  "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
		Summary: "Returns the members of a range of ranks, scores or bytes.",
	},
	{
		Name: "zrangebylex", Arity: -4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)+M)",
		Syntax:  "key min max [LIMIT offset count]",
		Summary: "Returns the members of a range of bytes.",
		Handler: func(c *Ctx) resp.Value { return zrangeFixed(c, byLex, false) },
	},
	{
		Name: "zrangebyscore", Arity: -4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "1.0.5", Complexity: "O(log(N)+M)",
		Syntax:  "key min max [WITHSCORES] [LIMIT offset count]",
		Summary: "Returns the members of a range of scores.",
		Handler: func(c *Ctx) resp.Value { return zrangeFixed(c, byScore, false) },
	},
	{
		Name: "zrangestore", Event: "zrangestore", Arity: -5, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "OW update"), key(2, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(log(N)+M)", Handler: zrangeStore,
		Syntax:  "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
		Summary: "Stores the members of a range of ranks, scores or bytes in a key.",
	},
	{
		Name: "zrank", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N))", Syntax: "key member",
		Summary: "Counts the members below a member.",
		Handler: func(c *Ctx) resp.Value { return zrank(c, false) },
	},
	{
		Name: "zrem", Event: "zrem", Arity: -3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW delete")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(M*log(N))",
		Syntax: "key member [member ...]", Handler: zrem,
		Summary: "Removes members.",
	},
	{
		Name: "zremrangebylex", Event: "zremrangebylex", Arity: 4, Flags: Write,
		Keys:  []KeySpec{key(1, "RW delete")},
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)+M)", Syntax: "key min max",
		Summary: "Removes the members of a range of bytes.",
		Handler: func(c *Ctx) resp.Value { return zremRange(c, byLex) },
	},
	{
		Name: "zremrangebyrank", Event: "zremrangebyrank", Arity: 4, Flags: Write,
		Keys:  []KeySpec{key(1, "RW delete")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N)+M)", Syntax: "key start stop",
		Summary: "Removes the members of a range of ranks.",
		Handler: func(c *Ctx) resp.Value { return zremRange(c, byRank) },
	},
	{
		Name: "zremrangebyscore", Event: "zremrangebyscore", Arity: 4, Flags: Write,
		Keys:  []KeySpec{key(1, "RW delete")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)+M)", Syntax: "key min max",
		Summary: "Removes the members of a range of scores.",
		Handler: func(c *Ctx) resp.Value { return zremRange(c, byScore) },
	},
	{
		Name: "zrevrange", Arity: -4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)+M)", Syntax: "key start stop [WITHSCORES]",
		Summary: "Returns the members of a range of ranks, highest first.",
		Handler: func(c *Ctx) resp.Value { return zrangeFixed(c, byRank, true) },
	},
	{
		Name: "zrevrangebylex", Arity: -4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)+M)",
		Syntax:  "key max min [LIMIT offset count]",
		Summary: "Returns the members of a range of bytes, highest first.",
		Handler: func(c *Ctx) resp.Value { return zrangeFixed(c, byLex, true) },
	},
	{
		Name: "zrevrangebyscore", Arity: -4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.2.0", Complexity: "O(log(N)+M)",
		Syntax:  "key max min [WITHSCORES] [LIMIT offset count]",
		Summary: "Returns the members of a range of scores, highest first.",
		Handler: func(c *Ctx) resp.Value { return zrangeFixed(c, byScore, true) },
	},
	{
		Name: "zrevrank", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N))", Syntax: "key member",
		Summary: "Counts the members above a member.",
		Handler: func(c *Ctx) resp.Value { return zrank(c, true) },
	},
	{
		Name: "zscan", Arity: -3, Flags: ReadOnly | Random, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "sorted-set", Since: "2.8.0", Complexity: "O(1)",
		Syntax: "key cursor [MATCH pattern] [COUNT count]", Handler: zscan,
		Summary: "Iterates over the members and scores.",
	},
	{
		Name: "zscore", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(1)", Syntax: "key member", Handler: zscore,
		Summary: "Returns the score of a member.",
	},
}

// zsetOf returns n's sorted set, or nil if n is nil. It fails if n holds another type.
func zsetOf(n *store.Node) (*zset.Set, resp.Value) {
	if n == nil {
		return nil, resp.None
	}
	s := store.ZSetOf(n)
	if s == nil {
		return nil, ErrWrongType
	}
	return s, resp.None
}

// readZSet returns the sorted set in the key Args[1], for reading.
func readZSet(c *Ctx) (*zset.Set, resp.Value) { return zsetOf(c.DB.Lookup(c.Args[1], c.NowMs)) }

// memberValue returns a member as a reply. Numbers are only formatted when encoded.
func memberValue(e zset.Entry) resp.Value {
	if e.IsNumber() {
		return resp.BulkInt(e.Number())
	}
	return resp.Bulk(e.Member())
}

// parseScoreRange parses a range of scores. A "(" before an end excludes it.
func parseScoreRange(lo, hi []byte) (r zset.ScoreRange, ok bool) {
	if len(lo) > 0 && lo[0] == '(' {
		lo, r.MinOpen = lo[1:], true
	}
	if len(hi) > 0 && hi[0] == '(' {
		hi, r.MaxOpen = hi[1:], true
	}
	if r.Min, ok = parseRangeFloat(lo); !ok {
		return r, false
	}
	r.Max, ok = parseRangeFloat(hi)
	return r, ok
}

// parseLexBound parses "-", "+", "[member" or "(member".
func parseLexBound(arg []byte) (b zset.LexBound, ok bool) {
	if len(arg) == 0 {
		return b, false
	}
	switch arg[0] {
	case '-':
		return zset.LexBound{Inf: -1}, len(arg) == 1
	case '+':
		return zset.LexBound{Inf: 1}, len(arg) == 1
	case '[', '(':
		return zset.LexBound{Value: arg[1:], Open: arg[0] == '('}, true
	}
	return b, false
}

func parseLexRange(lo, hi []byte) (r zset.LexRange, ok bool) {
	if r.Min, ok = parseLexBound(lo); !ok {
		return r, false
	}
	r.Max, ok = parseLexBound(hi)
	return r, ok
}

// ZCARD key
func zcard(c *Ctx) resp.Value {
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	return resp.Int(int64(s.Len()))
}

// ZCOUNT key min max
func zcount(c *Ctx) resp.Value {
	r, ok := parseScoreRange(c.Args[2], c.Args[3])
	if !ok {
		return errMinMaxFloat
	}
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	return resp.Int(int64(s.CountByScore(r)))
}

// ZLEXCOUNT key min max
func zlexCount(c *Ctx) resp.Value {
	r, ok := parseLexRange(c.Args[2], c.Args[3])
	if !ok {
		return errMinMaxLex
	}
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	start, stop := s.RankRangeByLex(r)
	return resp.Int(int64(stop - start))
}

// ZSCORE key member
func zscore(c *Ctx) resp.Value {
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	return scoreOf(s, c.Args[2])
}

// ZMSCORE key member [member ...]
func zmscore(c *Ctx) resp.Value {
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	out := c.Build(len(c.Args) - 2)
	members := c.Args[2:]
	for i, member := range members {
		if s != nil && i%zset.MembersAhead == 0 {
			s.ReadMembersAhead(members[i:], 1)
		}
		out.Add(scoreOf(s, member))
	}
	return out.Array()
}

func scoreOf(s *zset.Set, member []byte) resp.Value {
	if s == nil {
		return resp.Null
	}
	score, ok := s.Score(member)
	if !ok {
		return resp.Null
	}
	return resp.Double(score)
}

// zrank handles ZRANK key member, or ZREVRANK if fromTop.
func zrank(c *Ctx, fromTop bool) resp.Value {
	s, refusal := readZSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Null
	}
	rank, ok := s.Rank(c.Args[2])
	if !ok {
		return resp.Null
	}
	if fromTop {
		rank = s.Len() - 1 - rank
	}
	return resp.Int(int64(rank))
}
