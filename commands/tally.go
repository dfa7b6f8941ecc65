package commands

import (
	"strings"

	"github.com/zlimit/zlimit/limiter"
)

// A Decider is a command that decides about rate limits, with the algorithm by
// which it does: an index into the Decisions of a Tally.
type Decider int

// deciders says what each one's command and algorithm are called: RL.ALLOW with
// each algorithm, then the further commands.
var deciders []struct{ command, algorithm string }

var mallowDecider, throttleDecider Decider

// numberDeciders makes the deciders from the algorithms.
func numberDeciders() {
	add := func(command string, a *algorithm) Decider {
		deciders = append(deciders, struct{ command, algorithm string }{command, strings.ToLower(a.name)})
		return Decider(len(deciders) - 1)
	}
	for _, a := range algorithms {
		if a.allow != nil {
			a.decider = add("rl.allow", a)
		}
	}
	further := map[string]*Decider{"rl.mallow": &mallowDecider, "cl.throttle": &throttleDecider}
	for _, a := range algorithms {
		for _, command := range a.also {
			*further[command] = add(command, a)
		}
	}
}

// NumDeciders is how many deciders there are: they are numbered from 0.
func NumDeciders() int { return len(deciders) }

// Command is the name of the command.
func (d Decider) Command() string { return deciders[d].command }

// Algorithm is the name of the algorithm, in lower case.
func (d Decider) Algorithm() string { return deciders[d].algorithm }

// Decisions are counts of what was decided. A call is one decision, whatever its
// cost and however many keys it names; one that was refused with an error is
// none, and one that only looked (PEEK, COST 0) is counted as that.
type Decisions struct {
	Allowed, Denied, Peeked int64
	Units                   int64 // granted, in all keys of a call together
}

// Add adds o.
func (d *Decisions) Add(o *Decisions) {
	d.Allowed += o.Allowed
	d.Denied += o.Denied
	d.Peeked += o.Peeked
	d.Units += o.Units
}

// A CallCount counts the calls of one command.
type CallCount struct {
	Cmd                     *Command
	Calls, Rejected, Failed int64
}

// A Tally is what handlers count, in the memory of the one session that runs
// them: no two processors meet in it. The session adds it to what INFO shows
// now and then.
type Tally struct {
	Decisions []Decisions // by Decider; nil: none so far
	Nested    []CallCount // what scripts called; each command once
}

// by returns the decisions of one decider.
func (t *Tally) by(d Decider) *Decisions {
	if t.Decisions == nil {
		t.Decisions = make([]Decisions, NumDeciders())
	}
	return &t.Decisions[d]
}

// call returns the count of a command that a script calls.
func (t *Tally) call(cmd *Command) *CallCount {
	for i := range t.Nested {
		if t.Nested[i].Cmd == cmd {
			return &t.Nested[i]
		}
	}
	t.Nested = append(t.Nested, CallCount{Cmd: cmd})
	return &t.Nested[len(t.Nested)-1]
}

// CountNested counts a call that a script made: rejected before it ran, or
// failed, or neither.
func (t *Tally) CountNested(cmd *Command, rejected, failed bool) {
	n := t.call(cmd)
	switch {
	case rejected:
		n.Rejected++
	case failed:
		n.Failed++
		n.Calls++
	default:
		n.Calls++
	}
}

// Take moves o into t.
func (t *Tally) Take(o *Tally) {
	for i := range o.Decisions {
		t.by(Decider(i)).Add(&o.Decisions[i])
	}
	for i := range o.Nested {
		from := &o.Nested[i]
		to := t.call(from.Cmd)
		to.Calls += from.Calls
		to.Rejected += from.Rejected
		to.Failed += from.Failed
	}
	o.Clear()
}

// Clear makes the counts zero.
func (t *Tally) Clear() {
	clear(t.Decisions)
	t.Nested = t.Nested[:0]
}

// decided counts a decision of RL.ALLOW.
func (c *Ctx) decided(by *algorithm, d *limiter.Decision, peek bool) {
	c.count(by.decider, d.Allowed, d.Allowed, peek)
}

// count counts a decision that granted units.
func (c *Ctx) count(by Decider, granted, units int64, peek bool) {
	t := c.Tally.by(by)
	switch {
	case peek:
		t.Peeked++
	case granted > 0:
		t.Allowed++
		t.Units += units
	default:
		t.Denied++
	}
}

// ErrorCount says who has counted the errors of a reply, for INFO errorstats.
type ErrorCount uint8

// What a handler may leave in Ctx.Errors.
const (
	ErrorsOpen   ErrorCount = iota // nobody has: the session does
	ErrorsNone                     // the handler found none
	ErrorsInside                   // the handler has counted them
)
