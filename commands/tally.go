package commands

import (
	"strings"
)

// A Decider identifies a pair of a rate limit command and an algorithm. It is an index
// into Tally.Decisions.
type Decider int

// deciders holds the names for each Decider: RL.ALLOW with each algorithm, then the
// other commands.
var deciders []struct{ command, algorithm string }

var mallowDecider, throttleDecider Decider

// numberDeciders fills deciders from the algorithms.
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
		for _, command := range a.otherCommands {
			*further[command] = add(command, a)
		}
	}
}

// NumDeciders returns the number of deciders, which are numbered from 0.
func NumDeciders() int { return len(deciders) }

// Command returns the name of the command.
func (d Decider) Command() string { return deciders[d].command }

// Algorithm returns the name of the algorithm, in lower case.
func (d Decider) Algorithm() string { return deciders[d].algorithm }

// Decisions counts decisions, one for each call that does not fail, whatever its cost
// and number of keys.
type Decisions struct {
	Allowed, Denied int64
	Peeked          int64 // calls with PEEK or COST 0
	Units           int64 // granted, in all keys of a call

	Fullness Fullness // of what was allowed or denied
}

// IsZero reports whether nothing was counted.
func (d *Decisions) IsZero() bool { return d.Allowed|d.Denied|d.Peeked|d.Units == 0 }

// Add adds o to d.
func (d *Decisions) Add(o *Decisions) {
	d.Allowed += o.Allowed
	d.Denied += o.Denied
	d.Peeked += o.Peeked
	d.Units += o.Units
	d.Fullness.add(&o.Fullness)
}

// Subtract subtracts o from d. What would be negative is 0.
func (d *Decisions) Subtract(o *Decisions) {
	d.Allowed = max(d.Allowed-o.Allowed, 0)
	d.Denied = max(d.Denied-o.Denied, 0)
	d.Peeked = max(d.Peeked-o.Peeked, 0)
	d.Units = max(d.Units-o.Units, 0)
	d.Fullness.subtract(&o.Fullness)
}

// A CallCount counts the calls of one command. Rejected calls did not run and are not
// in Calls; failed ones are.
type CallCount struct {
	Cmd                     *Command
	Calls, Rejected, Failed int64
}

// A Tally holds the counts of one session's handlers, to avoid contention. The session
// regularly adds them to INFO's totals.
type Tally struct {
	Decisions []Decisions // by Decider; nil: none so far
	Nested    []CallCount // calls by scripts, one entry for each command
	Prefixes  PrefixTally // of Settings.StatsPrefixes
}

func (t *Tally) decisions(d Decider) *Decisions {
	if t.Decisions == nil {
		t.Decisions = make([]Decisions, NumDeciders())
	}
	return &t.Decisions[d]
}

func (t *Tally) nested(cmd *Command) *CallCount {
	for i := range t.Nested {
		if t.Nested[i].Cmd == cmd {
			return &t.Nested[i]
		}
	}
	t.Nested = append(t.Nested, CallCount{Cmd: cmd})
	return &t.Nested[len(t.Nested)-1]
}

// CountNested counts a call made by a script or by EXEC.
func (c *Ctx) CountNested(cmd *Command, rejected, failed bool) {
	n := c.tally().nested(cmd)
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

// Clear sets the counts to zero.
func (t *Tally) Clear() {
	clear(t.Decisions)
	t.Nested = t.Nested[:0]
}

// An outcome is what is counted of a decision.
type outcome struct {
	granted, units int64 // to the key, and in all keys
	peek           bool
	fullness       float64 // after the decision, see fullness
}

// count counts a decision about a key.
func (c *Ctx) count(by Decider, key []byte, o outcome) {
	c.tally().decisions(by).count(o)
	if c.Settings.StatsPrefixes != nil {
		if d := c.prefixDecisions(by, key); d != nil {
			d.count(o)
		}
	}
}

func (d *Decisions) count(o outcome) {
	switch {
	case o.peek:
		d.Peeked++
		return
	case o.granted > 0:
		d.Allowed++
		d.Units += o.units
	default:
		d.Denied++
	}
	d.Fullness.observe(o.fullness)
}

// An ErrorCount determines whether the session counts the errors of a reply for INFO
// errorstats.
type ErrorCount uint8

// The values of Ctx.Errors.
const (
	ErrorsUncounted ErrorCount = iota // the session counts the errors
	NoErrors                          // there are no errors to count
	ErrorsCounted                     // the handler has counted them
)
