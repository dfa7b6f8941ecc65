package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

var rlAllowRows = []commands.Command{
	{
		Name: "rl.allow", Arity: -4,
		Flags: commands.Write | commands.DenyOOM | commands.Fast | commands.WaitsRoom,
		Keys:  key("RW access update"),
		Group: "rate-limit", Since: "0.1.0", Complexity: algoComplexity("O(W*log(N)) with W windows", ""),
		Handler: rlAllow, Reads: allowIsReadOnly,
		Syntax: "key limit window [limit window ...] [COST cost] [ATMOST] [PEEK] [SHADOW] " +
			algoSyntax + " [FULL] [WAIT milliseconds]",
		Summary: "Admits a request if fewer than limit were admitted in the window before it.",
		Example: "user:42 100 1m",
	},
	{
		Name: "rl.mallow", Arity: -5,
		Flags: commands.Write | commands.DenyOOM | commands.Fast | commands.WaitsRoom,
		Keys: []commands.KeySpec{{
			Flags: "RW access update", First: 1, Step: 3, KeyNum: true, StepIn: mallowStep,
			Notes: "each key is followed by a limit and a window, or all of them by terms",
		}},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K*log(N)) with K keys",
		Handler: rlMallow, Reads: mallowIsReadOnly,
		Syntax: "numkeys <key limit window [key limit window ...] [COST cost] | key [key ...] " + termSyntax +
			"> [PEEK] [SHADOW] [FULL] [ID id] [WAIT milliseconds]",
		Summary: "Admits a request if every one of several keys does, " +
			"and counts it in all of them or in none.",
		Example: "2 user:42 10 1s tenant:7 1000 1m COST 2",
	},
}

// termSyntax is the syntax of a term for each key.
const termSyntax = "TERM <limit window [limit window ...] [ALGO algorithm] [COST cost] | " +
	"SLOTS max LEASE milliseconds> [TERM ...]"

// RL.ALLOW key limit window [limit window ...] [COST n] [ATMOST] [PEEK]
// [SHADOW] [ALGO algorithm] [FULL] [WAIT ms]
//
// A call that is denied or only peeks changes nothing. The type of the key depends
// on the algorithm; see algorithm.
func rlAllow(c *commands.Ctx) resp.Value {
	if len(c.Args) == 4 {
		return allowPlain(c)
	}
	t := session(c).newTerm()
	if refusal := t.parse(c.Args[2:], allowOptions); refusal.IsError() {
		return refusal
	}
	t.name = c.Args[1]
	if refusal := t.decide(c); refusal.IsError() {
		return refusal
	}
	if t.waitMs > 0 {
		if waiting, refusal := waits(c, t.waitMs, t.d.RetryAfterMs, c.Args[1:2]); waiting {
			return refusal
		}
	}
	if t.creates() {
		if refusal := reserve(c, t.name); refusal.IsError() {
			return refusal
		}
	}
	if t.d.Units > 0 {
		t.content.apply(c, t)
	}
	countAllow(c, t.algo, t.name, t.Call, &t.d, t.shadow)
	markFullness(c, t.name, &t.d)
	if t.shadow {
		AdmitShadow(&t.d, t.Cost)
	}
	if !t.full {
		return DecisionReply(c, &t.d, t.waitMs)
	}
	if t.algo.next != nil {
		t.algo.next(c, t)
	}
	return FullReply(c, &t.d, t.algo.name, t.shadow, t.waitMs)
}

// FullReply returns the reply with FULL, with a field more if the call has SHADOW or WAIT.
func FullReply(c *commands.Ctx, d *limiter.Decision, algorithm string, shadow bool, waitMs int64) resp.Value {
	pairs := append(c.Values(20),
		resp.Bulk("allowed"), resp.Int(d.Allowed),
		resp.Bulk("limit"), resp.Int(d.Limit),
		resp.Bulk("remaining"), resp.Int(d.Remaining),
		resp.Bulk("retry_after_ms"), resp.Int(d.RetryAfterMs),
		resp.Bulk("reset_after_ms"), resp.Int(d.ResetAfterMs),
		resp.Bulk("next_after_ms"), resp.Int(d.NextAfterMs),
		resp.Bulk("used"), resp.Int(d.Used),
		resp.Bulk("algo"), resp.Bulk(algorithm),
		resp.Bulk("window_ms"), resp.Int(d.WindowMs))
	if shadow {
		pairs = append(pairs, resp.Bulk("shadow"), resp.Int(isShadow(d)))
	}
	if waitMs > 0 {
		pairs = waited(c, waitMs, append(pairs, resp.Bulk("waited_ms")))
	}
	return resp.Map(pairs...)
}

// SHADOW tries a limit on live traffic. A call that would be denied takes no units, as every denied one, is
// counted as neither admitted nor denied, and is answered as admitted: see docs/adr/0053.

// AdmitShadow makes a denial the answer to an admitted call of this cost. What else it says stays: its wait,
// which is never 0, marks the reply.
func AdmitShadow(d *limiter.Decision, cost int64) {
	if d.Allowed == 0 {
		d.Allowed = max(cost, 1)
	}
}

// isShadow returns 1 for a denial that is answered as admitted, else 0.
func isShadow(d *limiter.Decision) int64 {
	if d.RetryAfterMs != 0 {
		return 1
	}
	return 0
}
