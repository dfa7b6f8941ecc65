package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
)

// This file counts decisions, of handlers and of a caller that has had them made elsewhere: for RL.STATS
// and the metrics, for RL.TOP, and for RL.TRACE.

// countAllow counts a decision of RL.ALLOW. shadow says that the call has SHADOW; d is as yet a denial if it
// is one.
func countAllow(
	c *commands.Ctx, by *algorithm, key []byte, call limiter.Call, d *limiter.Decision, shadow bool,
) {
	s, peek := session(c), call.Peek || call.Cost == 0
	full := fullness(d.Used, d.Remaining)
	s.count(c, by.deciders[allows], key, outcome{d.Allowed, d.Allowed, peek, shadow, full})
	q := limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs}
	s.observe(c, key, !peek && d.Allowed == 0 && !shadow, q)
	s.trace(c, key, call, d.Allowed)
}

// A jointCall is what is counted of a call with one or several terms.
type jointCall struct {
	command decides
	names   [][]byte // every step-th is a key
	step    int
	call    limiter.Call // about each key, unless there are
	terms   []term       // one for each key
	by      *algorithm   // of the binding key
	binding int
	peek    bool
	units   int64 // granted, of all keys
	shadow  bool  // what is denied is answered as admitted
}

// countJoint counts a decision about terms: with prefixes, as one about the binding key, and the units of
// each key for its own.
func countJoint(c *commands.Ctx, j *jointCall, d *limiter.Decision) {
	s, by := session(c), j.by.deciders[j.command]
	o := outcome{d.Allowed, j.units, j.peek, j.shadow, fullness(d.Used, d.Remaining)}
	s.decisions(by).count(o)
	if j.command == checks && !j.peek {
		countPolicies(c, j.terms, d, j.binding, j.shadow)
	}
	for i := 0; i < len(j.names); i += j.step {
		name, call, granted := j.names[i], j.callOf(i/j.step), int64(0)
		if d.Allowed > 0 {
			granted = max(call.Cost, 1)
		}
		binds := i == j.binding*j.step
		q := limiter.Quota{}
		if binds {
			q = limiter.Quota{Limit: d.Limit, WindowMs: d.WindowMs}
		}
		s.observe(c, name, !j.peek && d.Allowed == 0 && !j.shadow && binds, q)
		if d.Allowed == 0 && !binds {
			continue // the key would have admitted the call
		}
		s.trace(c, name, call, granted)
		if c.Settings.StatsPrefixes == nil || j.peek && !binds {
			continue
		}
		switch to := s.prefixDecisions(c, by, name); {
		case to == nil:
		case binds:
			o.units = granted
			to.count(o)
		default:
			to.Units += granted
		}
	}
}

// callOf returns the call about a key; about slots, whose decisions are not traced, one of cost 0.
func (j *jointCall) callOf(i int) limiter.Call {
	if j.terms == nil {
		return j.call
	}
	call := j.terms[i].Call
	if j.terms[i].algo.slots {
		call.Cost = 0
	}
	return call
}

// A LimitDecision is a decision that was made elsewhere, with what was asked.
type LimitDecision struct {
	Call    *LimitCall
	Keys    [][]byte
	Binding int // the index in Keys of the binding key

	limiter.Decision // without Change
}

func (d *LimitDecision) countJoint(c *commands.Ctx) {
	terms := d.Call.terms
	j := jointCall{
		command: d.Call.command, names: d.Keys, step: 1, call: d.Call.Call, terms: terms,
		by: defaultAlgorithm, binding: d.Binding, peek: d.Call.Peek, shadow: d.Call.Shadow,
	}
	if terms != nil {
		j.names, j.by = d.Keys[:len(terms)], terms[d.Binding].algo
	}
	if d.Allowed > 0 {
		for i := range j.names {
			j.units += max(j.callOf(i).Cost, 1)
		}
	}
	countJoint(c, &j, &d.Decision)
}

// CountDecision counts a decision that was made elsewhere as its handler would. Of c it uses what
// says the instant, the database, the settings, and where to count.
func CountDecision(c *commands.Ctx, d *LimitDecision) {
	switch l := d.Call; l.command {
	case allows:
		countAllow(c, algorithmNamed(l.Algorithm), d.Keys[0], l.Call, &d.Decision, l.Shadow)
	case throttles:
		countThrottle(c, d.Keys[0], l.Cost, &d.Decision)
	default:
		d.countJoint(c)
	}
}
