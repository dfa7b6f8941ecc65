package faults

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
)

// A Kind is the effect of a Fault on a command.
type Kind int

// Kinds of faults, which package zlimittest describes.
const (
	None Kind = iota
	Close
	DropReply
	Mute
	NoScript
	Loading
	OutOfMemory
	ReadOnly
	Refuse
)

// An Outcome is what becomes of a command, as server.Interception describes it.
type Outcome struct {
	Refusal string
	Skip    bool
	Hangup  bool
	Mute    bool
}

// kinds has a row for each Kind: its name in DEBUG FAULT, the outcome, and the commands that
// it concerns unless a command is named; nil: all.
var kinds = [...]struct {
	name    string
	outcome Outcome
	about   func(c *commands.Command) bool
}{
	None:      {name: "delay"},
	Close:     {name: "close", outcome: Outcome{Skip: true, Hangup: true}},
	DropReply: {name: "drop-reply", outcome: Outcome{Hangup: true}},
	Mute:      {name: "mute", outcome: Outcome{Mute: true}},
	NoScript: {
		"noscript",
		Outcome{Refusal: "NOSCRIPT No matching script. Please use EVAL."},
		named("evalsha", "evalsha_ro"),
	},
	Loading: {
		"loading",
		Outcome{Refusal: "LOADING Redis is loading the dataset in memory"},
		not(commands.Loading),
	},
	OutOfMemory: {
		"oom",
		Outcome{Refusal: "OOM command not allowed when used memory > 'maxmemory'."},
		orScript(commands.DenyOOM),
	},
	ReadOnly: {
		"readonly",
		Outcome{Refusal: "READONLY You can't write against a read only replica."},
		orScript(commands.Write),
	},
	Refuse: {name: "refuse"},
}

func named(names ...string) func(*commands.Command) bool {
	return func(c *commands.Command) bool { return slices.Contains(names, c.Name) }
}

func not(flag commands.Flags) func(*commands.Command) bool {
	return func(c *commands.Command) bool { return !c.Is(flag) }
}

// orScript matches commands with a flag, and scripts that may run one.
func orScript(flag commands.Flags) func(*commands.Command) bool {
	script := named("eval", "evalsha")
	return func(c *commands.Command) bool { return c.Is(flag) || script(c) }
}

// opening matches the commands that client libraries send by themselves.
var opening = named("hello", "auth", "client", "select", "command", "quit", "reset")

// affects reports whether the fault applies to a command, nil for an unknown one. To
// DEBUG, by which a test controls the server, no fault applies.
func (f *Fault) affects(c *commands.Command) bool {
	about := kinds[f.Kind].about
	switch {
	case c != nil && c.Name == "debug":
		return false
	case f.On == "*":
		return true
	case f.On != "":
		return c != nil && c.Name == f.On
	case c == nil:
		return about == nil
	case opening(c):
		return false
	}
	return about == nil || about(c)
}
