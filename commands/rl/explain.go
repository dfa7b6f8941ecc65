package rl

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlExplainRows = []commands.Command{
	{
		Name: "rl.explain", Arity: -4, Flags: commands.ReadOnly | commands.Fast, Keys: key("RO access"),
		Group: "rate-limit", Since: "0.1.0", Complexity: algoComplexity("O(W*log(N)) with W windows", ""),
		Handler: rlExplain,
		Syntax:  "key limit window [limit window ...] [COST cost] " + algoSyntax,
		Summary: "Explains what fills the windows of a limiter's key, and what fits when.",
		Example: "user:42 100 1m 1000 1h COST 5",
	},
}

var errExplainElsewhere = resp.Error("ERR EXPLAIN is not served here: the keys are upstream")

// RL.EXPLAIN key limit window [limit window ...] [COST n] [ALGO algorithm]
//
// The reply is a map with the algorithm, the instant, and a map for each window; see
// docs/adr/0038. Without ALGO the algorithm is that of the key, or LOG if there is none.
// A sorted set that another limiter wrote is explained if the unit of its scores is
// recognized.
func rlExplain(c *commands.Ctx) resp.Value {
	var t term
	if refusal := t.parseArgs(c.Args[2:], explainOptions); refusal.IsError() {
		return refusal
	}
	t.name = c.Args[1]
	n := c.DB.Peek(t.name, c.NowMs)
	var x explained
	var refusal resp.Value
	if t.seen&optAlgo != 0 {
		if refusal := t.validate(); refusal.IsError() {
			return refusal
		}
		refusal = x.view(c, &t, n)
	} else {
		refusal = x.recognize(c, &t, n)
	}
	if refusal.IsError() {
		return refusal
	}
	return x.reply(c, &t, n)
}

// explained is a key that RL.EXPLAIN explains.
type explained struct {
	algorithm  string                               // its name
	unknown    string                               // as in algorithm
	more       func(s limiter.Subject) []resp.Value // as explainMore there
	subject    limiter.Subject
	expireAtMs int64      // 0: none
	scores     *scoreUnit // of a sorted set that another limiter wrote; otherwise nil
}

// view sets x to the state of t.algo that the key holds; n is nil if it does not exist.
func (x *explained) view(c *commands.Ctx, t *term, n *store.Node) (refusal resp.Value) {
	x.algorithm, x.unknown, x.more = t.algo.name, t.algo.unknown, t.algo.explainMore
	if refusal = t.view(c, n); !refusal.IsError() {
		x.subject, x.expireAtMs = t.content.subject(), t.expireAtMs
	}
	return refusal
}

// recognize is view for a call without ALGO: it finds out what the key holds.
func (x *explained) recognize(c *commands.Ctx, t *term, n *store.Node) (refusal resp.Value) {
	if err := limiter.ValidateQuotas(t.quotas[:t.n], t.Call); err != nil {
		return rlError(err)
	}
	if n != nil {
		algo := algorithmOf(c, n)
		switch {
		case algo == nil:
			return x.viewForeign(n)
		case !algo.inALGO():
			return t.algo.wrongState(c, n)
		case t.n > 1 && !algo.multiQuota:
			return errOneQuota
		}
		t.algo = algo
	}
	if t.algo.implied != nil {
		t.param = t.algo.implied(t)
	}
	if t.algo.param == nil || t.param != 0 { // otherwise it is the key's own
		if refusal := t.validate(); refusal.IsError() {
			return refusal
		}
	}
	return x.view(c, t, n)
}

// viewForeign sets x to a sorted set that another limiter wrote.
func (x *explained) viewForeign(n *store.Node) (refusal resp.Value) {
	set := store.ZSetOf(n)
	if x.scores = scoreUnitOf(set); x.scores == nil {
		return foreignKeyError(n)
	}
	x.algorithm, x.subject = "ZSET", limiter.Units{Log: foreignLog{set, x.scores}}
	x.expireAtMs, _ = n.Value.ExpireAtMs()
	return resp.None
}

// reply returns the map of pairs and what x explains.
func (x *explained) reply(c *commands.Ctx, t *term, n *store.Node, pairs ...resp.Value) resp.Value {
	ttl := resp.Int(-1) // as PTTL
	switch {
	case n == nil:
		ttl = resp.Int(-2)
	case x.expireAtMs > 0:
		ttl = resp.Int(x.expireAtMs - c.NowMs)
	}
	pairs = append(pairs, resp.Bulk("algorithm"), resp.Bulk(x.algorithm),
		resp.Bulk("now_ms"), resp.Int(c.NowMs), resp.Bulk("ttl_ms"), ttl)
	if x.scores != nil {
		pairs = append(pairs, resp.Bulk("score_unit"), resp.Bulk(x.scores.name))
	}
	if x.more != nil {
		pairs = append(pairs, x.more(x.subject)...)
	}
	windows := make([]resp.Value, t.n)
	for i, q := range t.quotas[:t.n] {
		e := limiter.Explain(x.subject, c.NowMs, x.expireAtMs, q, t.Cost)
		if i == 0 && e.ResolutionMs > 1 {
			pairs = append(pairs, resp.Bulk("resolution_ms"), resp.Int(e.ResolutionMs))
		}
		windows[i] = windowReply(c, t, &e)
	}
	if x.unknown != "" {
		pairs = append(pairs, resp.Bulk("unknown"), resp.Bulk(x.unknown))
	}
	return resp.Map(append(pairs, resp.Bulk("windows"), resp.Array(windows...))...)
}

func windowReply(c *commands.Ctx, t *term, e *limiter.Explanation) resp.Value {
	pairs := []resp.Value{
		resp.Bulk("limit"), resp.Int(e.Limit),
		resp.Bulk("window_ms"), resp.Int(e.WindowMs),
		resp.Bulk("used"), resp.Int(e.Used),
		resp.Bulk("remaining"), resp.Int(e.Remaining),
	}
	if e.ResolutionMs > 0 {
		if e.Used > 0 {
			pairs = append(pairs,
				resp.Bulk("oldest_ms"), resp.Int(e.OldestMs),
				resp.Bulk("oldest_age_ms"), resp.Int(c.NowMs-e.OldestMs),
				resp.Bulk("newest_ms"), resp.Int(e.NewestMs),
				resp.Bulk("newest_age_ms"), resp.Int(c.NowMs-e.NewestMs))
		}
		pairs = append(pairs, resp.Bulk("tenths"), integers(e.Tenths[:]))
	}
	pairs = append(pairs,
		resp.Bulk("leave_after_ms"), integers(e.Leaves[:e.LeavesLen]))
	if slices.Max(e.LeaveUnits[:]) > 1 {
		pairs = append(pairs, resp.Bulk("leave_units"), integers(e.LeaveUnits[:e.LeavesLen]))
	}
	pairs = append(pairs, resp.Bulk("fits_after_ms"), resp.Int(e.Fits))
	if t.seen&optCost != 0 {
		pairs = append(pairs, resp.Bulk("cost"), resp.Int(max(t.Cost, 1)),
			resp.Bulk("cost_fits_after_ms"), resp.Int(e.CostFits))
	}
	double := resp.Map(
		resp.Bulk("limit"), resp.Int(e.Double.Limit),
		resp.Bulk("allowed"), resp.Int(e.Double.Allowed),
		resp.Bulk("remaining"), resp.Int(e.Double.Remaining),
		resp.Bulk("retry_after_ms"), resp.Int(e.Double.RetryAfterMs))
	return resp.Map(append(pairs, resp.Bulk("double"), double)...)
}

func integers(numbers []int64) resp.Value {
	values := make([]resp.Value, len(numbers))
	for i, n := range numbers {
		values[i] = resp.Int(n)
	}
	return resp.Array(values...)
}
