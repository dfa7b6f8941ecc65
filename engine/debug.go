package engine

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/debug"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// debugHandlers returns the handlers of DEBUG that need the engine.
func (e *Engine) debugHandlers() debug.Handlers {
	return debug.Handlers{
		Clock: e.debugClock, ConfigRewrite: e.debugConfigRewrite, LoadAOF: e.debugLoadAOF, Log: e.debugLog,
		Fault:  e.faults.Debug(func(name []byte) *commands.Command { return e.table.Lookup(name) }),
		Reload: e.debugReload, Reset: e.debugReset, SetActiveExpire: e.debugSetActiveExpire,
		Sleep: e.debugSleep, StructSize: debugStructSize,
	}
}

// DEBUG LOG message
func (e *Engine) debugLog(c *commands.Ctx) resp.Value {
	e.options.Log.Warn("DEBUG LOG: " + resp.OneLine(string(c.Args[2])))
	return resp.OK
}

// sleepSliceUs is how long DEBUG SLEEP takes at most to notice that it is to end.
const sleepSliceUs = 20_000

// DEBUG SLEEP seconds
//
// As in Redis, what is not a number is 0, and what is negative is no time.
func (e *Engine) debugSleep(c *commands.Ctx) resp.Value {
	seconds, _ := strconv.ParseFloat(string(c.Args[2]), 64)
	us := int64(min(seconds, 1e9) * 1e6)
	for us > 0 && e.options.Delay != nil && !caller(c).ending.dead.Load() && !e.life.ending.Load() {
		slice := min(us, sleepSliceUs)
		e.options.Delay(slice)
		us -= slice
	}
	return resp.OK
}

// DEBUG SET-ACTIVE-EXPIRE 0 | 1
func (e *Engine) debugSetActiveExpire(c *commands.Ctx) resp.Value {
	on, _ := store.ParseInt(c.Args[2])
	e.room.Reclaims.Off.Store(on == 0)
	return resp.OK
}

// DEBUG STRUCTSIZE
func debugStructSize(*commands.Ctx) resp.Value {
	return resp.Status("bits:" + strconv.Itoa(strconv.IntSize) +
		" node:" + strconv.Itoa(int(unsafe.Sizeof(store.Node{}))) +
		" string:" + strconv.Itoa(int(unsafe.Sizeof(store.String{}))) +
		" session:" + strconv.FormatInt(sessionBytes, 10))
}

var (
	errReloadOption = resp.Error("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
	errReloadLogged = resp.Error("ERR DEBUG RELOAD NOSAVE is refused while appendonly is on: the log would " +
		"lack what is loaded")
	errReloadSave = resp.Error("ERR") // as in Redis
	errReloadLoad = resp.Error("ERR Error trying to load the RDB dump")
	errLoadAOF    = resp.Error("ERR Error trying to load the AOF files, check server logs")
)

// DEBUG RELOAD [NOSAVE] [NOFLUSH] [MERGE]
func (e *Engine) debugReload(c *commands.Ctx) resp.Value {
	o := durable.ReloadOptions{Save: true, Flush: true}
	for _, arg := range c.Args[2:] {
		switch {
		case commands.EqualFold(arg, "nosave"):
			o.Save = false
		case commands.EqualFold(arg, "noflush"):
			o.Flush = false
		case commands.EqualFold(arg, "merge"):
			o.Merge = true
		default:
			return errReloadOption
		}
	}
	if !o.Save && e.storage.Logging() {
		return errReloadLogged
	}
	if o.Save {
		if err := e.storage.SaveLocked(); err != nil {
			return errReloadSave
		}
	}
	err := e.unrecorded(c, func() error { return e.storage.Reload(o) })
	if err != nil {
		e.options.Log.Warn("DEBUG RELOAD failed", "error", err)
		return errReloadLoad
	}
	e.options.Log.Warn("DB reloaded by DEBUG RELOAD")
	return resp.OK
}

// DEBUG LOADAOF
func (e *Engine) debugLoadAOF(c *commands.Ctx) resp.Value {
	if err := e.unrecorded(c, e.storage.ReloadLog); err != nil {
		e.options.Log.Warn("DEBUG LOADAOF failed", "error", err)
		return errLoadAOF
	}
	e.options.Log.Info("Append Only File loaded by DEBUG LOADAOF")
	return resp.OK
}

// unrecorded calls fn without recording what it does to the keyspace: the files have it
// already. Every shard must be locked.
func (e *Engine) unrecorded(c *commands.Ctx, fn func() error) error {
	e.store.Record(store.AllShards, nil)
	if group := c.Group(); group != nil {
		defer e.store.Record(store.AllShards, group)
		group.MarkAccounted()
	}
	return fn()
}

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
		if e.advance(c, ms) != nil {
			return errClockStep
		}
	case commands.EqualFold(word, "set"):
		if ms < minClockMs || ms > clock.MaxMs {
			return errClockSet
		}
		if ms < c.NowMs {
			e.room.ReclaimLocked(c.NowMs) // expired keys do not count
			if !e.empty() {
				return errClockBack
			}
		}
		if ms > c.NowMs && e.advance(c, ms-c.NowMs) != nil || e.clock.Set(ms) != nil {
			return errClockSet
		}
	default:
		return errClockSyntax
	}
	e.room.ReclaimLocked(e.clock.NowUs() / 1000)
	e.locks.waits.lookAtAll()
	e.serveNow(c)
	return resp.OK
}

// advance moves the clock forwards by ms milliseconds, with a halt wherever something is due for a call that
// waits: so it is served at the instant at which it would be in real time.
func (e *Engine) advance(c *commands.Ctx, ms int64) error {
	nowMs := e.clock.NowUs() / 1000
	if ms < 0 || ms > clock.MaxMs-nowMs {
		return clock.ErrRange
	}
	for left := ms; ; {
		next := e.locks.waits.firstMs.Load()
		if next <= nowMs || next > nowMs+left || e.pause.On() {
			return e.clock.Advance(left)
		}
		if err := e.clock.Advance(next - nowMs); err != nil {
			return err
		}
		left -= next - nowMs
		nowMs = next
		e.serveNow(c)
	}
}

// serveNow serves calls that are due by a clock that c has moved.
func (e *Engine) serveNow(c *commands.Ctx) {
	c.NowUs = e.clock.NowUs()
	c.NowMs = c.NowUs / 1000
	k := keyspace{caller(c)}
	k.serveDue(store.AllShards)
	k.serve(store.AllShards)
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
// It makes a server ready for another test, with the directives and the users of its start. Connections stay,
// except for those of users that are deleted.
func (e *Engine) debugReset(c *commands.Ctx) resp.Value {
	if err := e.cfg.Restore(); err != nil {
		return resp.Error("ERR " + resp.OneLine(err.Error()))
	}
	caller(c).who.CutUsers(e.accounts.Restore())
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
