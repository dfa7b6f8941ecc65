package main

import (
	"fmt"
	"strings"
)

// step is one thing done to both servers: a command, raw bytes, or a move of both clocks. A round is a slice of steps
// that means the same whatever subset of it is run, which is what makes shrinking sound: nothing in a step depends on
// an earlier reply, and clock moves name the instant, not the distance.
type step struct {
	conn    int      // which of a round's connections sends it
	args    []string // the command; nil for a clock move or raw bytes
	inner   []string // for a script that returns one command's reply: that command
	raw     string   // sent as it is: inline commands and broken ones
	closes  bool     // the server hangs up after answering (QUIT, protocol errors)
	silent  bool     // no reply is due (CLIENT REPLY OFF and SKIP)
	iterate bool     // SCAN, HSCAN, SSCAN and ZSCAN from cursor 0 to the end; the union is compared
	cut     bool     // starts a new write, where other steps join the previous one's
	glue    bool     // only means something right after the step before it
	audit   bool     // reads the state at a round's end; left out of the statistics
	clockMs int64    // above 0: both clocks are set to this Unix time in milliseconds
	hears   bool     // the reply has before it all messages since the last such step
	split   bool     // written in two parts, so that the server sees half a command first
}

// containers are the commands whose first argument names the real command.
var containers = map[string]bool{
	"CLIENT": true, "CLUSTER": true, "COMMAND": true, "CONFIG": true, "OBJECT": true, "SCRIPT": true,
}

// commandName is the upper-case name under which exceptions.go and the statistics know a command.
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

// name is the step's own command, with the command inside a script behind a slash.
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

// compared is the command whose reply this is: the one inside the script where there is one.
func (s step) compared() []string {
	if s.inner != nil {
		return s.inner
	}
	return s.args
}

// String writes the step as a line that redis-cli reads.
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

// quote writes an argument as redis-cli takes it: bare where nothing in it is special, else in double quotes with
// \xHH for what cannot be printed.
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
