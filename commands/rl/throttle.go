package rl

import (
	"math"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlThrottleRows = []commands.Command{
	throttleRow("cl.throttle", "redis-cell's command; the emission interval is rounded up to a microsecond, "+
		"max_burst -1 or count 0 denies every call, and other negative numbers are refused"),
	throttleRow("rl.throttle", "CL.THROTTLE under the name that Valkey's issue 4081 proposes; "+
		"counted as CL.THROTTLE"),
}

// throttleRow returns the row of CL.THROTTLE under a name.
func throttleRow(name, deviation string) commands.Command {
	return commands.Command{
		Name: name, Arity: -5, Flags: commands.Write | commands.DenyOOM | commands.Fast,
		Keys:  key("RW access update"),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(1)",
		Handler: clThrottle, Reads: throttleIsReadOnly,
		Syntax: "key max_burst count period [quantity]",
		Summary: "Admits count requests in period seconds, and max_burst more at once, " +
			"by the generic cell rate algorithm.",
		Example:   "api:42 15 30 60",
		Deviation: deviation,
	}
}

// CL.THROTTLE key max_burst count period [quantity], also called RL.THROTTLE
//
// The reply is 0 if admitted, otherwise 1, the burst (max_burst plus one), what remains
// of it, the seconds to wait (-1 if admitted, or if quantity exceeds the burst), and the
// seconds until the whole burst is available. Seconds are rounded up. Count 0 makes the
// burst 0, which nothing fits. The state is that of ALGO GCRA.
func clThrottle(c *commands.Ctx) resp.Value {
	q, burst, quantity, refusal := parseThrottle(c)
	if refusal.IsError() {
		return refusal
	}
	t := session(c).newTerm()
	t.reset()
	t.name, t.algo, t.quotas[0], t.param = c.Args[1], &gcraAlgorithm, q, burst
	if refusal := t.open(c); refusal.IsError() {
		return refusal
	}
	var answer limiter.Throttle
	answer, t.d = t.state.gcra.Throttle(c.NowMs, t.expireAtMs, q, quantity)
	if t.creates() {
		if refusal := reserve(c, t.name); refusal.IsError() {
			return refusal
		}
	}
	if t.d.Units > 0 {
		t.content.apply(c, t)
	}
	countThrottle(c, t.name, quantity, &t.d)
	if c.Settings.LimiterAware {
		c.DB.SetFullness(t.name, stampOf(answer.Limited, t.d.Used, t.d.Remaining), c.NowMs)
	}
	return ThrottleReply(c, &answer)
}

// throttleArguments are the numbers of a call, in their order.
var throttleArguments = [...]struct {
	name  string
	least int64
	below string
}{
	{"max_burst", -1, " must be at least -1"},
	{"count", 0, " must not be negative"},
	{"period", 1, " must be at least 1 second"},
	{"quantity", 0, " must not be negative"},
}

func parseThrottle(c *commands.Ctx) (q limiter.Quota, burst, quantity int64, refusal resp.Value) {
	if len(c.Args) > 6 {
		return q, 0, 0, commands.WrongArity(c.Cmd)
	}
	numbers := [...]int64{0, 0, 0, 1}
	for i, arg := range c.Args[2:] {
		of := &throttleArguments[i]
		n, ok := store.ParseInt(arg)
		if !ok {
			return q, 0, 0, resp.Error("ERR " + of.name + " is not an integer or out of range")
		}
		if n < of.least {
			return q, 0, 0, resp.Error("ERR " + of.name + of.below)
		}
		numbers[i] = n
	}
	burst, periodS := numbers[0], numbers[2]
	if periodS >= limiter.MaxWindowMs/1000 {
		return q, 0, 0, resp.Error("ERR period must be below 100 years")
	}
	q = limiter.Quota{Limit: numbers[1], WindowMs: periodS * 1000}
	if burst < math.MaxInt64 {
		burst++
	}
	if err := limiter.ValidateBurst(q, burst); err != nil {
		return q, 0, 0, resp.Error("ERR max_burst must take less than 100 years to fill")
	}
	return q, burst, numbers[3], resp.None
}

// ThrottleReply returns the reply of CL.THROTTLE.
func ThrottleReply(c *commands.Ctx, t *limiter.Throttle) resp.Value {
	limited := int64(0)
	if t.Limited {
		limited = 1
	}
	return resp.Array(append(c.Values(5),
		resp.Int(limited), resp.Int(t.Limit), resp.Int(t.Remaining),
		resp.Int(t.RetryAfterS), resp.Int(t.ResetAfterS))...)
}

func throttleIsReadOnly(args [][]byte) bool { return len(args) == 6 && string(args[5]) == "0" }

// ParseThrottle parses CL.THROTTLE.
func (l *LimitCall) ParseThrottle(c *commands.Ctx) resp.Value {
	q, burst, quantity, refusal := parseThrottle(c)
	l.Cost, l.Peek = quantity, quantity == 0
	l.Algorithm, l.command = gcraAlgorithm.name, throttles
	l.Terms = []LimitTerm{
		{[]limiter.Quota{q}, gcraAlgorithm.name, burst, quantity, gcraAlgorithm.anyLimit},
	}
	return refusal
}

// countThrottle counts a decision of CL.THROTTLE.
func countThrottle(c *commands.Ctx, key []byte, quantity int64, d *limiter.Decision) {
	s, full := session(c), fullness(d.Used, d.Remaining)
	o := outcome{d.Allowed, d.Allowed, quantity == 0, false, full}
	s.count(c, gcraAlgorithm.deciders[throttles], key, o)
	s.observe(c, key, d.RetryAfterMs != 0, limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs})
	s.trace(c, key, limiter.Call{Cost: quantity}, d.Allowed)
}
