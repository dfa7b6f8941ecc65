package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// minClockMs is the earliest instant that DEBUG CLOCK SET accepts.
const minClockMs = 100_000_000_000

var (
	errClockInt  = resp.Error("ERR milliseconds is not an integer or out of range")
	errClockStep = resp.Error(fmt.Sprintf("ERR milliseconds must be from 0 to what is left until %d "+
		"unix milliseconds", int64(clock.MaxMs)))
	errClockSet = resp.Error(fmt.Sprintf("ERR unix-time-milliseconds must be from %d to %d",
		int64(minClockMs), int64(clock.MaxMs)))
	errClockBack   = resp.Error("ERR DEBUG CLOCK SET moves the clock back only on an empty keyspace")
	errClockSyntax = resp.Error("ERR DEBUG CLOCK takes FREEZE, ADVANCE milliseconds, SET " +
		"unix-time-milliseconds or RESUME")
)

// DEBUG CLOCK FREEZE | ADVANCE ms | SET ms | RESUME
//
// The clock moves while every shard is locked, so no command sees two instants.
// When the reply is sent, everything that is due by the new instant has expired.
func (e *Engine) debugClock(c *commands.Ctx) resp.Value {
	if refusal := e.clockRefusal("CLOCK"); refusal != "" {
		return resp.Error(refusal)
	}
	word, args := c.Args[2], c.Args[3:]
	takesMs := commands.EqualFold(word, "advance") || commands.EqualFold(word, "set")
	var ms int64
	if takesMs {
		if len(args) != 1 {
			return errClockSyntax
		}
		var ok bool
		if ms, ok = store.ParseInt(args[0]); !ok {
			return errClockInt
		}
	} else if len(args) != 0 {
		return errClockSyntax
	}
	switch {
	case commands.EqualFold(word, "freeze"):
		e.clock.Freeze()
	case commands.EqualFold(word, "resume"):
		e.clock.Resume()
	case commands.EqualFold(word, "advance"):
		if e.clock.Advance(ms) != nil {
			return errClockStep
		}
	case commands.EqualFold(word, "set"):
		if ms < minClockMs || ms > clock.MaxMs {
			return errClockSet
		}
		if ms < c.NowMs {
			e.reclaimAll(c.NowMs) // expired keys do not count
			if !e.empty() {
				return errClockBack
			}
		}
		if e.clock.Set(ms) != nil {
			return errClockSet
		}
	default:
		return errClockSyntax
	}
	e.reclaimAll(e.clock.NowUs() / 1000)
	return resp.OK
}

// clockRefusal returns why a subcommand may not move the clock, or "".
func (e *Engine) clockRefusal(subcommand string) string {
	switch {
	case e.repl.link.Load() != nil:
		return "ERR DEBUG " + subcommand + " is not allowed on a replica: its time is the master's"
	case e.cfg.Bool("appendonly") || e.cfg.String("save") != "":
		return "ERR DEBUG " + subcommand + " is not allowed while appendonly or save points are on"
	}
	return ""
}

// DEBUG RESET
//
// It makes a server ready for another test. Directives, users and connections stay.
func (e *Engine) debugReset(*commands.Ctx) resp.Value {
	if refusal := e.clockRefusal("RESET"); refusal != "" {
		return resp.Error(refusal)
	}
	for i := range store.Databases {
		e.store.DB(i).Flush()
	}
	e.scripts.Flush()
	e.faults.Clear()
	e.clock.Reset()
	return resp.OK
}

// empty reports whether no database holds a key. Every shard must be locked.
func (e *Engine) empty() bool {
	for i := range store.Databases {
		if e.store.DB(i).Len() > 0 {
			return false
		}
	}
	return true
}
