package main

import (
	"fmt"
	"strings"
)

// A step is one action on both servers: a command, raw bytes, or a move of both clocks. A round is a slice of
// steps that means the same whatever subset of it is run, so shrinking is sound: no step depends on an
// earlier reply, and clock moves name the instant, not the distance.
type step struct {
	conn    int      // index of the round's connection that sends it
	args    []string // the command; nil for a clock move or raw bytes
	inner   []string // the command whose reply a script returns
	raw     string   // sent as it is: inline and invalid commands
	closes  bool     // the server closes the connection after replying (QUIT, protocol errors)
	silent  bool     // there is no reply (CLIENT REPLY OFF and SKIP)
	iterate bool     // SCAN, HSCAN, SSCAN and ZSCAN from cursor 0 to the end; the union is compared
	cut     bool     // starts a new write; other steps join the previous one
	glue    bool     // has a meaning only right after the step before it
	audit   bool     // reads the state at a round's end; left out of the statistics
	clockMs int64    // above 0: both clocks are set to this Unix time in milliseconds
	pushes  bool     // the messages pushed since the last such step precede the reply
	split   bool     // written in two parts, so that the server sees half a command first
}

// containers are the commands whose first argument is a subcommand.
var containers = map[string]bool{
	"ACL": true, "CLIENT": true, "CLUSTER": true, "COMMAND": true, "CONFIG": true, "DEBUG": true,
	"LATENCY": true, "MEMORY": true, "OBJECT": true, "SCRIPT": true, "SLOWLOG": true,
}

// commandName returns the upper-case name that exceptions.go and the statistics use for a command.
func commandName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := strings.ToUpper(args[0])
	if containers[name] && len(args) > 1 {
		name += " " + strings.ToUpper(args[1])
	}
	return name
}

// name returns the step's command, followed by a slash and the command inside a script.
func (s step) name() string {
	switch {
	case s.clockMs > 0:
		return "(clock)"
	case s.args == nil:
		return "(raw)"
	case s.inner != nil:
		return commandName(s.args) + "/" + commandName(s.inner)
	}
	return commandName(s.args)
}

// compared returns the command whose reply this is: the one inside the script if there is one.
func (s step) compared() []string {
	if s.inner != nil {
		return s.inner
	}
	return s.args
}

// String formats the step as a line that redis-cli reads.
func (s step) String() string {
	var b strings.Builder
	switch {
	case s.clockMs > 0:
		fmt.Fprintf(&b, "DEBUG CLOCK SET %d", s.clockMs)
	case s.args == nil:
		fmt.Fprintf(&b, "(bytes) %q", s.raw)
	default:
		for i, a := range s.args {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(quote(a))
		}
	}
	if s.iterate {
		b.WriteString("   (and on to cursor 0)")
	}
	return b.String()
}

// quote formats an argument for redis-cli: bare if it has no special characters, otherwise in double quotes,
// with \xHH for what cannot be printed.
func quote(a string) string {
	plain := a != ""
	for i := 0; i < len(a); i++ {
		c := a[i]
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\'' || c == '\\' {
			plain = false
		}
	}
	if plain {
		return a
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(a); i++ {
		switch c := a[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
