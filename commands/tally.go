package commands

import "github.com/zlimit/zlimit/limiter"

// A Decider is a command that decides about rate limits, with the algorithm by
// which it does.
type Decider uint8

// The deciders, in the order in which INFO lists them.
const (
	AllowLog Decider = iota
	AllowFixed
	AllowGCRA
	AllowBuckets
	MAllowLog
	ThrottleGCRA
	NumDeciders
)

// deciders say what each one's command and algorithm are called.
var deciders = [NumDeciders]struct{ command, algorithm string }{
	AllowLog:     {"rl.allow", "log"},
	AllowFixed:   {"rl.allow", "fixed"},
	AllowGCRA:    {"rl.allow", "gcra"},
	AllowBuckets: {"rl.allow", "buckets"},
	MAllowLog:    {"rl.mallow", "log"},
	ThrottleGCRA: {"cl.throttle", "gcra"},
}

// Command is the name of the command.
func (d Decider) Command() string { return deciders[d].command }

// Algorithm is the name of the algorithm, in lower case.
func (d Decider) Algorithm() string { return deciders[d].algorithm }

// Decisions are counts of what was decided. A call is one decision, whatever its
// cost and however many keys it names; one that was refused with an error is
// none, and one that only looked (PEEK, COST 0) is counted as that.
type Decisions struct {
	Allowed, Denied, Looked int64
	Units                   int64 // granted, in all keys of a call together
}

// Add adds o.
func (d *Decisions) Add(o *Decisions) {
	d.Allowed += o.Allowed
	d.Denied += o.Denied
	d.Looked += o.Looked
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
	Decisions [NumDeciders]Decisions
	Nested    []CallCount // what scripts called; each command once
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
		t.Decisions[i].Add(&o.Decisions[i])
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
	t.Decisions = [NumDeciders]Decisions{}
	t.Nested = t.Nested[:0]
}

// decided counts a decision of RL.ALLOW.
func (c *Ctx) decided(by Decider, d *limiter.Decision, peek bool) {
	c.count(by, d.Allowed, d.Allowed, peek)
}

// count counts a decision that granted units.
func (c *Ctx) count(by Decider, granted, units int64, peek bool) {
	t := &c.Tally.Decisions[by]
	switch {
	case peek:
		t.Looked++
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
