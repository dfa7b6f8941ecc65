package faults

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Syntax is that of DEBUG FAULT.
const Syntax = "<INJECT kind [ON command] [TIMES n] [AFTER milliseconds] [UNTIL REMOVED] [TEXT error] | " +
	"LIST | REMOVE id | CLEAR>"

const maxDelayMs = 24 * 60 * 60 * 1000

var (
	errSyntax = resp.Error("ERR DEBUG FAULT takes INJECT kind [ON command] [TIMES n] [AFTER milliseconds] " +
		"[UNTIL REMOVED] [TEXT error], LIST, REMOVE id or CLEAR")
	errKind  = resp.Error("ERR kind must be " + kindNames())
	errTimes = resp.Error(fmt.Sprintf("ERR TIMES must be from 1 to %d, or -1 for all commands",
		math.MaxInt32))
	errAfter = resp.Error(fmt.Sprintf("ERR AFTER must be from 0 to %d milliseconds", maxDelayMs))
	errUntil = resp.Error("ERR UNTIL must be REMOVED")
	errDelay = resp.Error("ERR DELAY needs AFTER milliseconds or UNTIL REMOVED")
	errText  = resp.Error("ERR REFUSE needs TEXT, an error in one line such as 'ERR it broke'; other kinds " +
		"have their own")
	errOn    = resp.Error("ERR ON must be a command other than DEBUG, or * for all but DEBUG")
	errID    = resp.Error("ERR there is no fault with this id")
	errCount = resp.Error(fmt.Sprintf("ERR there are %d faults already: DEBUG FAULT CLEAR removes them",
		maxFaults))
)

// kindNames returns the names of the kinds as a sentence has them.
func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, strings.ToUpper(k.name))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Debug returns the handler of DEBUG FAULT. lookup returns the row of a command that clients
// can send, or nil.
func (s *Set) Debug(lookup func(name []byte) *commands.Command) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		switch word, args := c.Args[2], c.Args[3:]; {
		case commands.EqualFold(word, "inject") && len(args) > 0:
			return s.debugInject(args, lookup)
		case commands.EqualFold(word, "list") && len(args) == 0:
			return s.debugList()
		case commands.EqualFold(word, "remove") && len(args) == 1:
			return s.debugRemove(args[0])
		case commands.EqualFold(word, "clear") && len(args) == 0:
			s.Clear()
			return resp.OK
		}
		return errSyntax
	}
}

// debugInject answers the id of the new fault.
func (s *Set) debugInject(args [][]byte, lookup func(name []byte) *commands.Command) resp.Value {
	f := Fault{Kind: -1}
	for k, row := range kinds {
		if commands.EqualFold(args[0], row.name) {
			f.Kind = Kind(k)
		}
	}
	if f.Kind < 0 {
		return errKind
	}
	delayed := false
	for args = args[1:]; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return errSyntax
		}
		value := args[1]
		switch n, isInt := store.ParseInt(value); {
		case commands.EqualFold(args[0], "on"):
			if f.On = string(value); f.On == "*" {
				continue
			}
			cmd := lookup(value)
			if cmd == nil || cmd.Name == "debug" {
				return errOn
			}
			f.On = cmd.Name // what it was renamed from
		case commands.EqualFold(args[0], "times"):
			if !isInt || n != Always && (n < 1 || n > math.MaxInt32) {
				return errTimes
			}
			f.Times = int(n)
		case commands.EqualFold(args[0], "after"):
			if !isInt || n < 0 || n > maxDelayMs {
				return errAfter
			}
			f.DelayNs, delayed = n*1_000_000, true
		case commands.EqualFold(args[0], "until"):
			if !commands.EqualFold(value, "removed") {
				return errUntil
			}
			f.UntilRemoved, delayed = true, true
		case commands.EqualFold(args[0], "text"):
			f.Text = string(value)
		default:
			return errSyntax
		}
	}
	switch {
	case (f.Kind == Refuse) != (f.Text != "") || strings.ContainsAny(f.Text, "\r\n"):
		return errText
	case f.Kind == None && !delayed:
		return errDelay
	}
	i := s.Inject(f)
	if i == nil {
		return errCount
	}
	return resp.Int(i.id)
}

// debugList answers a map for each fault, oldest first, those that are over included.
func (s *Set) debugList() resp.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []resp.Value
	for _, i := range s.list {
		until := ""
		if i.fault.UntilRemoved {
			until = "removed"
		}
		out = append(out, resp.Map(
			resp.Bulk("id"), resp.Int(i.id),
			resp.Bulk("kind"), resp.Bulk(kinds[i.fault.Kind].name),
			resp.Bulk("on"), resp.Bulk(i.fault.On),
			resp.Bulk("left"), resp.Int(int64(i.left)),
			resp.Bulk("hits"), resp.Int(int64(i.hits)),
			resp.Bulk("after"), resp.Int(i.fault.DelayNs/1_000_000),
			resp.Bulk("text"), resp.Bulk(i.fault.Text),
			resp.Bulk("until"), resp.Bulk(until),
		))
	}
	return resp.Array(out...)
}

func (s *Set) debugRemove(word []byte) resp.Value {
	id, ok := store.ParseInt(word)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.list, func(i *Injected) bool { return ok && i.id == id })
	if at < 0 {
		return errID
	}
	s.remove(s.list[at])
	return resp.OK
}
