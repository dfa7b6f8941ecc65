package commands

import (
	"cmp"
	"math"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

// SortedSetCombinations are the commands that combine several sorted sets into one.
// The inputs, see zset_source.go, may also be sets, whose members have the score 1.
var SortedSetCombinations = []Command{
	{
		Name: "zdiff", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(L+(N-K)*log(N))",
		Syntax:  "numkeys key [key ...] [WITHSCORES]",
		Summary: "Returns the members of the first sorted set that are in no other.",
		Handler: func(c *Ctx) resp.Value {
			return zcombine(c, zcombination{combine: zdiff, unweighted: true})
		},
	},
	{
		Name: "zdiffstore", Event: "zdiffstore", Arity: -4, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "OW update"), CountedKeys(2, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(L+(N-K)*log(N))",
		Syntax:  "destination numkeys key [key ...]",
		Summary: "Stores the members of the first sorted set that are in no other in a key.",
		Handler: func(c *Ctx) resp.Value {
			return zcombine(c, zcombination{combine: zdiff, unweighted: true, store: true})
		},
	},
	{
		Name: "zinter", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N*K)+O(M*log(M))",
		Syntax: "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] " +
			"[WITHSCORES]",
		Summary: "Returns the intersection of several sorted sets, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, zcombination{combine: zinter}) },
	},
	{
		Name: "zintercard", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(N*K)",
		Syntax: "numkeys key [key ...] [LIMIT limit]", Handler: zinterCard,
		Summary: "Counts the intersection of several sorted sets.",
	},
	{
		Name: "zinterstore", Event: "zinterstore", Arity: -4, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "OW update"), CountedKeys(2, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(N*K)+O(M*log(M))",
		Syntax: "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] " +
			"[AGGREGATE <SUM | MIN | MAX>]",
		Summary: "Stores the intersection of several sorted sets in a key, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, zcombination{combine: zinter, store: true}) },
	},
	{
		Name: "zunion", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N)+O(M*log(M))",
		Syntax: "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] " +
			"[WITHSCORES]",
		Summary: "Returns the union of several sorted sets, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, zcombination{combine: zunion}) },
	},
	{
		Name: "zunionstore", Event: "zunionstore", Arity: -4, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "OW update"), CountedKeys(2, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(N)+O(M*log(M))",
		Syntax: "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] " +
			"[AGGREGATE <SUM | MIN | MAX>]",
		Summary: "Stores the union of several sorted sets in a key, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, zcombination{combine: zunion, store: true}) },
	},
}

type zcombination struct {
	combine    func(sources []zsource, agg aggregate) []scoredMember
	unweighted bool // accepts neither WEIGHTS nor AGGREGATE
	store      bool // stores the result in the key Args[1] instead of returning it
}

type scoredMember struct {
	member string
	score  float64
}

// zcombine handles ZUNION, ZINTER, ZDIFF and their STORE forms. As in Redis, the keys
// are looked up before the options are parsed.
func zcombine(c *Ctx, op zcombination) resp.Value {
	countAt := 1
	if op.store {
		countAt = 2
	}
	sources, rest, refusal := zsources(c, countAt)
	if refusal.IsError() {
		return refusal
	}
	agg, withScores := addScores, false
	for o := (options{rest}); o.more(); {
		switch {
		case !op.unweighted && o.wordWith("weights", len(sources)):
			for i := range sources {
				var ok bool
				if sources[i].weight, ok = parseFloat(o.value()); !ok {
					return errWeight
				}
			}
		case !op.unweighted && o.wordWith("aggregate", 1):
			if agg = aggregateNamed(o.value()); agg == nil {
				return ErrSyntax
			}
		case !op.store && o.word("withscores"):
			withScores = true
		default:
			return ErrSyntax
		}
	}
	result := op.combine(sources, agg)
	slices.SortFunc(result, func(a, b scoredMember) int {
		if a.score != b.score {
			return cmp.Compare(a.score, b.score)
		}
		return cmp.Compare(a.member, b.member)
	})
	if op.store {
		return storeResult(c, c.Args[1], zsetFrom(c, result))
	}
	out := newEntryList(c, len(result), withScores, c.Proto == resp.RESP3)
	for _, e := range result {
		if !out.addMember(resp.Bulk(e.member), e.score) {
			break
		}
	}
	return out.Array()
}

// zsetFrom returns a sorted set of members, which must be sorted.
func zsetFrom(c *Ctx, members []scoredMember) *zset.Set {
	s := &zset.Set{}
	longest := 0
	for _, e := range members {
		longest = max(longest, len(e.member))
	}
	// Redis combines into a skiplist and then converts it, if possible, to a
	// listpack, which has no -0.
	listpack := int64(len(members)) <= c.Settings.ZSetMaxListpackCount &&
		int64(longest) <= c.Settings.ZSetMaxListpackValue
	var text []byte
	for _, e := range members {
		if listpack && e.score == 0 {
			e.score = 0
		}
		text = append(text[:0], e.member...)
		s.Add(text, e.score)
	}
	s.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
	return s
}

// ZINTERCARD numkeys key [key ...] [LIMIT limit]
func zinterCard(c *Ctx) resp.Value {
	sources, rest, refusal := zsources(c, 1)
	if refusal.IsError() {
		return refusal
	}
	limit := int64(0)
	for o := (options{rest}); o.more(); {
		if !o.wordWith("limit", 1) {
			return ErrSyntax
		}
		var ok bool
		if limit, ok = parseInt(o.value()); !ok || limit < 0 {
			return errNegativeLimit
		}
	}
	sortBySize(sources)
	common := int64(0)
	sources[0].each(func(member []byte, _ float64) bool {
		for i := range sources {
			if _, ok := sources[i].score(member); !ok {
				return true
			}
		}
		common++
		return common != limit
	})
	return resp.Int(common)
}

// An aggregate combines two scores of a member.
type aggregate func(score, other float64) float64

func aggregateNamed(word []byte) aggregate {
	switch {
	case EqualFold(word, "sum"):
		return addScores
	case EqualFold(word, "min"):
		return lowerScore
	case EqualFold(word, "max"):
		return higherScore
	}
	return nil
}

// addScores returns the sum of the scores, or 0 if that is NaN, as for inf-inf.
func addScores(score, other float64) float64 { return nanToZero(score + other) }

// lowerScore returns the lower score, or the first if they are equal or one is NaN.
func lowerScore(score, other float64) float64 {
	if other < score {
		return other
	}
	return score
}

func higherScore(score, other float64) float64 {
	if other > score {
		return other
	}
	return score
}

func nanToZero(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// sortBySize sorts the inputs by size. It is stable: the order affects rounded sums.
func sortBySize(sources []zsource) {
	slices.SortStableFunc(sources, func(a, b zsource) int { return a.len() - b.len() })
}

func zunion(sources []zsource, agg aggregate) []scoredMember {
	sortBySize(sources)
	var (
		out []scoredMember
		at  = make(map[string]int) // indexes of members in out
	)
	for i := range sources {
		sources[i].each(func(member []byte, score float64) bool {
			score = nanToZero(score * sources[i].weight)
			if j, seen := at[string(member)]; seen {
				out[j].score = agg(out[j].score, score)
				return true
			}
			e := scoredMember{string(member), score}
			at[e.member] = len(out)
			out = append(out, e)
			return true
		})
	}
	return out
}

func zinter(sources []zsource, agg aggregate) []scoredMember {
	sortBySize(sources)
	var out []scoredMember
	sources[0].each(func(member []byte, score float64) bool {
		sum := nanToZero(score * sources[0].weight)
		for i := 1; i < len(sources); i++ {
			other, ok := sources[i].score(member)
			if !ok {
				return true
			}
			// As in Redis, 0*inf becomes 0 in the first input only; here it makes
			// the sum 0. The conversion prevents a fused multiply-add, which
			// would round differently.
			sum = agg(sum, float64(other*sources[i].weight))
		}
		out = append(out, scoredMember{string(member), sum})
		return true
	})
	return out
}

func zdiff(sources []zsource, _ aggregate) []scoredMember {
	first, others := &sources[0], sources[1:]
	// Look up every member in the others, or read all others, whichever is less work.
	inOthers := func(member []byte) bool {
		return slices.ContainsFunc(others, func(s zsource) bool { _, ok := s.score(member); return ok })
	}
	total := 0
	for i := range others {
		total += others[i].len()
	}
	if len(others) > 1 && first.len() > 2*total/(len(others)-1) {
		excluded := make(map[string]struct{})
		for i := range others {
			others[i].each(func(member []byte, _ float64) bool {
				excluded[string(member)] = struct{}{}
				return true
			})
		}
		inOthers = func(member []byte) bool { _, ok := excluded[string(member)]; return ok }
	}
	var out []scoredMember
	first.each(func(member []byte, score float64) bool {
		if !inOthers(member) {
			out = append(out, scoredMember{string(member), score})
		}
		return true
	})
	return out
}
