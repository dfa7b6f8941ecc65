package commands

import "github.com/zlimit/zlimit/limiter"

// This file counts decisions, of handlers and of a caller that has had them made elsewhere: for RL.STATS
// and the metrics, for RL.TOP, and for RL.TRACE.

// countAllow counts a decision of RL.ALLOW.
func (c *Ctx) countAllow(by *algorithm, key []byte, call limiter.Call, d *limiter.Decision) {
	peek := call.Peek || call.Cost == 0
	c.count(by.decider, key, outcome{d.Allowed, d.Allowed, peek, fullness(d.Used, d.Remaining)})
	c.observe(key, !peek && d.Allowed == 0, limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs})
	c.trace(key, call, d.Allowed)
}

// countThrottle counts a decision of CL.THROTTLE.
func (c *Ctx) countThrottle(key []byte, quantity int64, d *limiter.Decision) {
	full := fullness(d.Used, d.Remaining)
	c.count(throttleDecider, key, outcome{d.Allowed, d.Allowed, quantity == 0, full})
	c.observe(key, d.RetryAfterMs != 0, limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs})
	c.trace(key, limiter.Call{Cost: quantity}, d.Allowed)
}

// countMallow counts a decision of RL.MALLOW about every step-th of names: with prefixes, as one about
// the binding key, and the units of each key for its own.
func (c *Ctx) countMallow(names [][]byte, step, binding int, call limiter.Call, d *limiter.Decision) {
	keys := int64(len(names) / step)
	o := outcome{d.Allowed, d.Allowed * keys, call.Peek, fullness(d.Used, d.Remaining)}
	c.tally().decisions(mallowDecider).count(o)
	o.units = d.Allowed
	for i := 0; i < len(names); i += step {
		binds := i == binding*step
		q := limiter.Quota{}
		if binds {
			q = limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs}
		}
		c.observe(names[i], !call.Peek && d.Allowed == 0 && binds, q)
		if d.Allowed == 0 && !binds {
			continue // the key would have admitted the call
		}
		c.trace(names[i], call, d.Allowed)
		if c.Settings.StatsPrefixes == nil || call.Peek && !binds {
			continue
		}
		switch to := c.prefixDecisions(mallowDecider, names[i]); {
		case to == nil:
		case binds:
			to.count(o)
		default:
			to.Units += d.Allowed
		}
	}
}

// countReserve counts a decision of RL.RESERVE.
func (c *Ctx) countReserve(key []byte, estimate, granted int64) {
	c.trace(key, limiter.Call{Cost: estimate}, granted)
}

// A LimitDecision is a decision that was made elsewhere, with what was asked.
type LimitDecision struct {
	Cmd     *Command // the row
	Call    *LimitCall
	Keys    [][]byte
	Binding int // the index in Keys of the binding key

	limiter.Decision // without Change
}

// limitCounters count the decisions of the commands that make some.
var limitCounters = map[string]func(c *Ctx, d *LimitDecision){
	"rl.allow": func(c *Ctx, d *LimitDecision) {
		c.countAllow(algorithmByName([]byte(d.Call.Algorithm)), d.Keys[0], d.Call.Call, &d.Decision)
	},
	"rl.mallow": func(c *Ctx, d *LimitDecision) {
		c.countMallow(d.Keys, 1, d.Binding, d.Call.Call, &d.Decision)
	},
	"rl.reserve": func(c *Ctx, d *LimitDecision) {
		c.countReserve(d.Keys[0], d.Call.Cost, d.Allowed)
	},
	"cl.throttle": func(c *Ctx, d *LimitDecision) {
		c.countThrottle(d.Keys[0], d.Call.Cost, &d.Decision)
	},
}

// CountDecision counts a decision that was made elsewhere as its handler would. Of c it uses what
// says the instant, the database, the settings, and where to count.
func CountDecision(c *Ctx, d *LimitDecision) { limitCounters[d.Cmd.Name](c, d) }
