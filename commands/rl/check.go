package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlCheckRows = []commands.Command{{
	Name: "rl.check", Arity: -4,
	Flags: commands.Write | commands.DenyOOM | commands.Fast | commands.NoScript | commands.NoMandatoryKeys |
		commands.ByPolicy,
	Keys: []commands.KeySpec{{
		Flags: "RW access update", First: 1, Step: 1, KeyNum: true,
		Notes: "the policy of the descriptor decides which keys",
	}},
	Group: "rate-limit", Since: "0.1.0", Complexity: "that of RL.ALLOW under the policy's algorithm",
	Handler: rlCheck, Reads: checkIsReadOnly, Keyless: checkIsKeyless,
	Syntax:  "domain key value [key value ...] [COST cost] [PEEK | EXPLAIN] [ID id]",
	Summary: "Admits a request if the policy of its descriptor does, which a file of rl-policies has.",
	Example: "edge ip 10.0.0.1",
}}

// RL.CHECK domain key value [key value ...] [COST n] [PEEK | EXPLAIN] [ID id]
//
// By the time it is called, its arguments are those that Matcher.Call of package policy makes: a key and a
// term for each limit, none if there is no limit. CHARGE makes denied units of a single key count. The reply
// is that of RL.ALLOW; without a limit, limit and remaining are -1. With FULL it is that of RL.MALLOW, with
// EXPLAIN a map for each key: its name, the policy, and what RL.EXPLAIN replies.
func rlCheck(c *commands.Ctx) resp.Value {
	if checkIsKeyless(c.Args) {
		return checkWithoutKeys(c)
	}
	m, refusal := parseCheck(c, session(c).newTerms)
	if refusal.IsError() {
		return refusal
	}
	if m.explain {
		return m.explained(c)
	}
	binding, index, reply, done := m.run(c, checks)
	switch {
	case done:
		return reply
	case m.full:
		return jointReply(c, m.terms, index, &binding, true, 0)
	}
	return DecisionReply(c, &binding, 0)
}

// checkWithoutKeys answers RL.CHECK 0 COST n POLICY name and RL.CHECK 0 EXPLAIN, or fails as RL.CHECK 0 ERROR
// text says.
func checkWithoutKeys(c *commands.Ctx) resp.Value {
	switch {
	case len(c.Args) == 3 && commands.EqualFold(c.Args[2], "explain"):
		return resp.Array()
	case len(c.Args) == 4 && commands.EqualFold(c.Args[2], "error"):
		return resp.Error("ERR " + resp.OneLine(string(c.Args[3])))
	case len(c.Args) != 6:
		return commands.ErrSyntax
	}
	if units, ok := store.ParseInt(c.Args[3]); ok {
		c.Settings.Policies.Registry().AllowUnlimited(c.Args[5], units)
	}
	return resp.Array(append(c.Values(5),
		resp.Int(1), resp.Int(-1), resp.Int(-1), resp.Int(0), resp.Int(0))...)
}

// parseCheck parses numkeys key [key ...] TERM ... POLICY name [TERM ...] [CHARGE] [PEEK] [SHADOW] [FULL]
// [EXPLAIN] [ID id].
func parseCheck(c *commands.Ctx, newTerms func(n int) []term) (m mallow, refusal resp.Value) {
	if m, refusal = parseJoint(c, newTerms, &checkForm); refusal.IsError() {
		return m, refusal
	}
	asks := false
	for i := range m.terms {
		t := &m.terms[i]
		switch {
		case t.algo.slots:
			if i > 0 {
				t.policy = m.terms[i-1].policy
			}
		case t.Cost == 0:
			t.zero, t.Call = true, limiter.Call{Cost: 1, Peek: true}
		default:
			asks = true
		}
	}
	if !asks && !m.peek { // then no slot is taken either
		m.peek = true
		for i := range m.terms {
			m.terms[i].Peek = true
		}
	}
	return m, resp.None
}

// explained replies to a call with EXPLAIN.
func (m *mallow) explained(c *commands.Ctx) resp.Value {
	replies := make([]resp.Value, m.n)
	for i := range m.terms {
		t, x := &m.terms[i], explained{}
		n := c.DB.Peek(t.name, c.NowMs)
		if refusal := x.view(c, t, n); refusal.IsError() {
			return refusal
		}
		replies[i] = x.reply(c, t, n, resp.Bulk("key"), resp.BulkBytes(t.name),
			resp.Bulk("policy"), resp.BulkBytes(t.policy))
	}
	return resp.Array(replies...)
}

// settleZero makes a peek at one unit the answer to a term without units: it is admitted unless more than the
// limit counts.
func (t *term) settleZero() {
	t.d.Allowed, t.d.Units = 0, 0
	if t.d.Used <= t.d.Limit {
		t.d.Allowed, t.d.RetryAfterMs = 1, 0
	}
}

// chargeDenied takes the units of a denied call all the same, and returns the denial with what remains.
func (m *mallow) chargeDenied(c *commands.Ctx) (binding limiter.Decision, refusal resp.Value) {
	t := &m.terms[0]
	binding = t.d
	if refusal = t.content.record(c, t, t.Cost); refusal.IsError() {
		return binding, refusal
	}
	if t.creates() {
		if refusal = reserve(c, t.name); refusal.IsError() {
			return binding, refusal
		}
	}
	t.content.apply(c, t)
	binding.Remaining, binding.Used, binding.ResetAfterMs = t.d.Remaining, t.d.Used, t.d.ResetAfterMs
	t.d = binding
	return binding, resp.None
}

// countPolicies counts a decision for the policies of its terms: a denial for that of the binding term only.
func countPolicies(c *commands.Ctx, terms []term, d *limiter.Decision, index int, shadow bool) {
	registry := c.Settings.Policies.Registry()
	for i := range terms {
		t := &terms[i]
		if t.policy == nil || t.zero || t.algo.slots && (d.Allowed > 0 || i != index) {
			continue
		}
		counts := registry.Find(t.policy)
		switch {
		case counts == nil:
		case d.Allowed > 0:
			counts.Allow(t.Cost)
		case i != index:
		case shadow:
			counts.Shadowed()
		default:
			counts.Deny()
		}
	}
}

// checkIsKeyless reports whether no limit applies.
func checkIsKeyless(args [][]byte) bool { return string(args[1]) == "0" }

func checkIsReadOnly(args [][]byte) bool {
	n, ok := store.ParseInt(args[1])
	if !ok || n < 0 || n > int64(len(args)-2) {
		return false
	}
	rest := args[2+n:]
	for i := 0; i < len(rest); i++ {
		switch parseOption(rest[i], optPeek|optExplain|optPolicy|optID) {
		case optPeek, optExplain:
			return true
		case optPolicy, optID:
			i++
		}
	}
	return n == 0
}
