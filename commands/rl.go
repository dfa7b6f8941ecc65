package commands

import (
	"errors"
	"strconv"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// RateLimits are the commands that Redis does not have: a whole limiter's
// decision in one step, on the server's clock.
var RateLimits = []Command{
	{
		Name: "rl.allow", Arity: -4, Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlAllow,
		Syntax:    "key limit window [COST cost]",
		Summary:   "Admits a request if fewer than limit were admitted in the window before it.",
		Deviation: "zlimit's own",
	},
}

// RL.ALLOW key limit window [COST cost]
//
// Answers five integers: the units granted (0: denied), the limit, the units
// remaining, the wait in milliseconds after which the same call is admitted
// (0: it was; -1: the cost is above the limit), and the milliseconds until the
// window is empty. The key is a sorted set of the units' instants; a denied
// call changes nothing.
func rlAllow(c *Ctx) resp.Value {
	quota, cost, refusal := parseAllow(c)
	if refusal.IsError() {
		return refusal
	}
	k, refusal := c.findLog(c.Args[1])
	if refusal.IsError() {
		return refusal
	}
	quotas := [...]limiter.Quota{quota}
	d, err := limiter.Decide(k.log(), c.NowMs, k.expireAtMs, quotas[:], cost)
	if err != nil {
		return rlError(c, err)
	}
	if d.Units > 0 {
		k.record(c, &d.Change)
	}
	return resp.Array(append(c.Values(5),
		resp.Int(d.Allowed), resp.Int(d.Limit), resp.Int(d.Remaining),
		resp.Int(d.RetryAfterMs), resp.Int(d.ResetAfterMs))...)
}

// parseAllow reads the arguments after the key.
func parseAllow(c *Ctx) (quota limiter.Quota, cost int64, refusal resp.Value) {
	var ok bool
	if quota.Limit, ok = parseInt(c.Args[2]); !ok {
		return quota, 0, errRLLimitNumber
	}
	var err error
	if quota.WindowMs, err = limiter.ParseWindow(c.Args[3]); err != nil {
		return quota, 0, rlError(c, err)
	}
	cost = 1
	given := false
	for o := (options{c.Args[4:]}); o.more(); given = true {
		if given || !o.wordWith("cost", 1) {
			return quota, 0, ErrSyntax
		}
		if cost, ok = parseInt(o.value()); !ok {
			return quota, 0, errRLCostNumber
		}
	}
	quotas := [...]limiter.Quota{quota}
	if err = limiter.Validate(quotas[:], cost, c.Settings.RLLogMaxUnits); err != nil {
		return quota, 0, rlError(c, err)
	}
	return quota, cost, resp.None
}

// rlError is the reply for an error of package limiter.
func rlError(c *Ctx, err error) resp.Value {
	if errors.Is(err, limiter.ErrLimitUnits) {
		return resp.Error("ERR limit is above rl-log-max-units (" + strconv.FormatInt(c.Settings.RLLogMaxUnits, 10) + ")")
	}
	for _, row := range rlErrors {
		if errors.Is(err, row.err) {
			return row.reply
		}
	}
	panic("commands: no reply for " + err.Error())
}
