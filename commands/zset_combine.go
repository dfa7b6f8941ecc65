package commands

import (
	"cmp"
	"math"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/zset"
)

// SortedSetCombinations are the commands that make one sorted set of several.
// Their inputs may be sets too, whose members all have the score 1. What they
// read is in zset_source.go.
var SortedSetCombinations = []Command{
	{
		Name: "zdiff", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(L+(N-K)*log(N))", Syntax: "numkeys key [key ...] [WITHSCORES]",
		Summary: "Returns the members of the first sorted set that are in no other.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, combineForm{make: zdifference, plain: true}) },
	},
	{
		Name: "zdiffstore", Event: "zdiffstore", Arity: -4, Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "OW update"), CountedKeys(2, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(L+(N-K)*log(N))", Syntax: "destination numkeys key [key ...]",
		Summary: "Stores the members of the first sorted set that are in no other in a key.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, combineForm{make: zdifference, plain: true, store: true}) },
	},
	{
		Name: "zinter", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N*K)+O(M*log(M))",
		Syntax:  "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]",
		Summary: "Returns the intersection of several sorted sets, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, combineForm{make: zintersection}) },
	},
	{
		Name: "zintercard", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(N*K)", Syntax: "numkeys key [key ...] [LIMIT limit]", Handler: zinterCard,
		Summary: "Counts the intersection of several sorted sets.",
	},
	{
		Name: "zinterstore", Event: "zinterstore", Arity: -4, Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "OW update"), CountedKeys(2, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(N*K)+O(M*log(M))",
		Syntax:  "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]",
		Summary: "Stores the intersection of several sorted sets in a key, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, combineForm{make: zintersection, store: true}) },
	},
	{
		Name: "zunion", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N)+O(M*log(M))",
		Syntax:  "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]",
		Summary: "Returns the union of several sorted sets, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, combineForm{make: zunited}) },
	},
	{
		Name: "zunionstore", Event: "zunionstore", Arity: -4, Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "OW update"), CountedKeys(2, "RO access")},
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(N)+O(M*log(M))",
		Syntax:  "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]",
		Summary: "Stores the union of several sorted sets in a key, with combined scores.",
		Handler: func(c *Ctx) resp.Value { return zcombine(c, combineForm{make: zunited, store: true}) },
	},
}

// combineForm says how the commands differ.
type combineForm struct {
	make  func(sources []zsource, aggregate aggregate) []scored
	plain bool // takes no WEIGHTS and no AGGREGATE
	store bool // keeps the result under the key in Args[1]; else answers it
}

// scored is a member of a result.
type scored struct {
	member string
	score  float64
}

// zcombine runs ZUNION, ZINTER, ZDIFF and their STORE forms. As in Redis the
// keys are looked up before the options are read.
func zcombine(c *Ctx, form combineForm) resp.Value {
	countAt := 1
	if form.store {
		countAt = 2
	}
	sources, rest, refusal := zsources(c, countAt)
	if refusal.IsError() {
		return refusal
	}
	together, withScores := addScores, false
	for o := (options{rest}); o.more(); {
		switch {
		case !form.plain && o.wordWith("weights", len(sources)):
			for i := range sources {
				var ok bool
				if sources[i].weight, ok = parseFloat(o.value()); !ok {
					return errWeight
				}
			}
		case !form.plain && o.wordWith("aggregate", 1):
			if together = aggregateNamed(o.value()); together == nil {
				return ErrSyntax
			}
		case !form.store && o.word("withscores"):
			withScores = true
		default:
			return ErrSyntax
		}
	}
	result := form.make(sources, together)
	slices.SortFunc(result, func(a, b scored) int {
		if a.score != b.score {
			return cmp.Compare(a.score, b.score)
		}
		return cmp.Compare(a.member, b.member)
	})
	if form.store {
		return storeResult(c, c.Args[1], zsetFrom(c, result))
	}
	out := newEntryList(c, len(result), withScores, c.Proto == resp.RESP3)
	for _, e := range result {
		out.addMember(resp.Bulk(e.member), e.score)
	}
	return out.reply()
}

// zsetFrom makes a sorted set of members in their order.
func zsetFrom(c *Ctx, members []scored) *zset.Set {
	s := &zset.Set{}
	longest := 0
	for _, e := range members {
		longest = max(longest, len(e.member))
	}
	// Redis combines in a skiplist and then makes a listpack of it where that
	// is allowed, which has no -0.
	listpack := int64(len(members)) <= c.Settings.ZSetMaxListpackCount && int64(longest) <= c.Settings.ZSetMaxListpackValue
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
	bySize(sources)
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

// An aggregate puts two scores of a member together.
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

// addScores makes 0 of what is no number, inf-inf above all.
func addScores(score, other float64) float64 { return numberOrZero(score + other) }

// lowerScore keeps the first of two that do not differ, or that cannot be
// compared.
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

func numberOrZero(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// bySize puts small inputs first. The order of equal ones stays: it shows in
// sums that round.
func bySize(sources []zsource) {
	slices.SortStableFunc(sources, func(a, b zsource) int { return a.len() - b.len() })
}

// zunited is ZUNION.
func zunited(sources []zsource, together aggregate) []scored {
	bySize(sources)
	var (
		out []scored
		at  = make(map[string]int) // where in out a member is
	)
	for i := range sources {
		sources[i].each(func(member []byte, score float64) bool {
			score = numberOrZero(score * sources[i].weight)
			if j, seen := at[string(member)]; seen {
				out[j].score = together(out[j].score, score)
				return true
			}
			e := scored{string(member), score}
			at[e.member] = len(out)
			out = append(out, e)
			return true
		})
	}
	return out
}

// zintersection is ZINTER.
func zintersection(sources []zsource, together aggregate) []scored {
	bySize(sources)
	var out []scored
	sources[0].each(func(member []byte, score float64) bool {
		sum := numberOrZero(score * sources[0].weight)
		for i := 1; i < len(sources); i++ {
			other, ok := sources[i].score(member)
			if !ok {
				return true
			}
			// 0*inf is made 0 in the first input only, as in Redis: here it
			// makes a sum 0. The conversion keeps the product from being
			// fused into the sum, which would round otherwise.
			sum = together(sum, float64(other*sources[i].weight))
		}
		out = append(out, scored{string(member), sum})
		return true
	})
	return out
}

// zdifference is ZDIFF.
func zdifference(sources []zsource, _ aggregate) []scored {
	first, others := &sources[0], sources[1:]
	// Asking every other input about every member, or reading all others once:
	// whichever is less.
	inOthers := func(member []byte) bool {
		return slices.ContainsFunc(others, func(s zsource) bool { _, ok := s.score(member); return ok })
	}
	total := 0
	for i := range others {
		total += others[i].len()
	}
	if len(others) > 1 && first.len() > 2*total/(len(others)-1) {
		gone := make(map[string]struct{})
		for i := range others {
			others[i].each(func(member []byte, _ float64) bool {
				gone[string(member)] = struct{}{}
				return true
			})
		}
		inOthers = func(member []byte) bool { _, ok := gone[string(member)]; return ok }
	}
	var out []scored
	first.each(func(member []byte, score float64) bool {
		if !inOthers(member) {
			out = append(out, scored{string(member), score})
		}
		return true
	})
	return out
}
