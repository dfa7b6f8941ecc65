package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
)

// This file counts decisions, of handlers and of a caller that has had them made elsewhere: for RL.STATS
// and the metrics, for RL.TOP, and for RL.TRACE.

// countAllow counts a decision of RL.ALLOW.
func countAllow(c *commands.Ctx, by *algorithm, key []byte, call limiter.Call, d *limiter.Decision) {
	s, peek := session(c), call.Peek || call.Cost == 0
	s.count(c, by.decider, key, outcome{d.Allowed, d.Allowed, peek, fullness(d.Used, d.Remaining)})
	s.observe(c, key, !peek && d.Allowed == 0, limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs})
	s.trace(c, key, call, d.Allowed)
}

// countThrottle counts a decision of CL.THROTTLE.
func countThrottle(c *commands.Ctx, key []byte, quantity int64, d *limiter.Decision) {
	s, full := session(c), fullness(d.Used, d.Remaining)
	s.count(c, throttleDecider, key, outcome{d.Allowed, d.Allowed, quantity == 0, full})
	s.observe(c, key, d.RetryAfterMs != 0, limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs})
	s.trace(c, key, limiter.Call{Cost: quantity}, d.Allowed)
}

// countMallow counts a decision of RL.MALLOW about every step-th of names: with prefixes, as one about
// the binding key, and the units of each key for its own.
func countMallow(c *commands.Ctx, names [][]byte, step, binding int, call limiter.Call, d *limiter.Decision) {
	s, keys := session(c), int64(len(names)/step)
	o := outcome{d.Allowed, d.Allowed * keys, call.Peek, fullness(d.Used, d.Remaining)}
	s.decisions(mallowDecider).count(o)
	o.units = d.Allowed
	for i := 0; i < len(names); i += step {
		binds := i == binding*step
		q := limiter.Quota{}
		if binds {
			q = limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs}
		}
		s.observe(c, names[i], !call.Peek && d.Allowed == 0 && binds, q)
		if d.Allowed == 0 && !binds {
			continue // the key would have admitted the call
		}
		s.trace(c, names[i], call, d.Allowed)
		if c.Settings.StatsPrefixes == nil || call.Peek && !binds {
			continue
		}
		switch to := s.prefixDecisions(c, mallowDecider, names[i]); {
		case to == nil:
		case binds:
			to.count(o)
		default:
			to.Units += d.Allowed
		}
	}
}

// countReserve counts a decision of RL.RESERVE.
func countReserve(c *commands.Ctx, key []byte, estimate, granted int64) {
	session(c).trace(c, key, limiter.Call{Cost: estimate}, granted)
}

// A LimitDecision is a decision that was made elsewhere, with what was asked.
type LimitDecision struct {
	Call    *LimitCall
	Keys    [][]byte
	Binding int // the index in Keys of the binding key

	limiter.Decision // without Change
}

func (d *LimitDecision) countAllow(c *commands.Ctx) {
	countAllow(c, d.Call.algorithm, d.Keys[0], d.Call.Call, &d.Decision)
}

func (d *LimitDecision) countMallow(c *commands.Ctx) {
	countMallow(c, d.Keys, 1, d.Binding, d.Call.Call, &d.Decision)
}

func (d *LimitDecision) countReserve(c *commands.Ctx) {
	countReserve(c, d.Keys[0], d.Call.Cost, d.Allowed)
}

func (d *LimitDecision) countThrottle(c *commands.Ctx) {
	countThrottle(c, d.Keys[0], d.Call.Cost, &d.Decision)
}

// CountDecision counts a decision that was made elsewhere as its handler would. Of c it uses what
// says the instant, the database, the settings, and where to count.
func CountDecision(c *commands.Ctx, d *LimitDecision) { d.Call.count(d, c) }
