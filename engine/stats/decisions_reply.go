package stats

import (
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/words"
)

// Command returns the row of RL.STATS. It shows the names of tenants, so it is a command of administrators.
// Its handler calls flush, after which a session's calls are counted. policies returns what is shown of
// policies; ok is false without any.
func (s *Stats) Command(
	flush func(*commands.Ctx), policies func() (_ resp.Value, ok bool),
) commands.Command {
	return commands.Command{
		Name: "rl.stats", Arity: -1, Flags: commands.Admin | commands.Loading | commands.Stale,
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(P) with P prefixes",
		Syntax:    "[prefix [prefix ...]]",
		Summary:   "Returns the decisions of limiters by algorithm, and by prefix of their keys.",
		Deviation: "zlimit's own",
		Handler: func(c *commands.Ctx) resp.Value {
			flush(c)
			return s.decisionsReply(c.Args[1:], policies)
		},
	}
}

// decisionsReply returns the reply of RL.STATS: a map of the totals, the totals of each
// algorithm, and the same for each prefix of rl-stats-prefix. With names it is a map of these
// prefixes only. See docs/adr/0038.
func (s *Stats) decisionsReply(names [][]byte, policies func() (_ resp.Value, ok bool)) resp.Value {
	prefixes, _, all := s.DecisionsByPrefix()
	if len(names) == 0 {
		pairs := append(decisionPairs(all), resp.Bulk("prefixes"), byPrefix(prefixes))
		if shown, ok := policies(); ok {
			pairs = append(pairs, resp.Bulk("policies"), shown)
		}
		if !slices.ContainsFunc(all, func(d rl.Decisions) bool { return !d.IsZero() }) {
			pairs = append(pairs, resp.Bulk("note"), resp.Bulk(rl.CountedDecisions))
		}
		return resp.Map(pairs...)
	}
	var chosen []PrefixDecisions
	for _, name := range names {
		found := false
		for i := range prefixes {
			if prefixes[i].Prefix == string(name) {
				chosen, found = append(chosen, prefixes[i]), true
			}
		}
		if !found {
			return resp.Error("ERR prefix " + words.Quote(string(name)) + " is not in rl-stats-prefix")
		}
	}
	return byPrefix(chosen)
}

func byPrefix(prefixes []PrefixDecisions) resp.Value {
	var pairs []resp.Value
	for i := range prefixes {
		pairs = append(pairs, resp.Bulk(prefixes[i].Prefix), resp.Map(decisionPairs(prefixes[i].By)...))
	}
	return resp.Map(pairs...)
}

// decisionPairs returns the fields of decisions: the sums, and those of each algorithm
// that has decided.
func decisionPairs(by []rl.Decisions) []resp.Value {
	fields := func(d *rl.Decisions) []resp.Value {
		return []resp.Value{
			resp.Bulk("allowed"), resp.Int(d.Allowed), resp.Bulk("denied"), resp.Int(d.Denied),
			resp.Bulk("peeked"), resp.Int(d.Peeked), resp.Bulk("units"), resp.Int(d.Units),
			resp.Bulk("shadow"), resp.Int(d.Shadow),
		}
	}
	var pairs []resp.Value
	for _, s := range SumBy(by, rl.Decider.Algorithm) {
		if !s.IsZero() {
			pairs = append(pairs, resp.Bulk(strings.ToUpper(s.Name)), resp.Map(fields(&s.Decisions)...))
		}
	}
	return append(fields(Total(by)), resp.Bulk("algorithms"), resp.Map(pairs...))
}
