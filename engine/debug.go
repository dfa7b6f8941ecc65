package engine

import (
	"strconv"
	"unsafe"

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
	e.log.Warn("DEBUG LOG: " + resp.OneLine(string(c.Args[2])))
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
	for us > 0 && e.options.Delay != nil && !caller(c).dead.Load() && !e.ending.Load() {
		slice := min(us, sleepSliceUs)
		e.options.Delay(slice)
		us -= slice
	}
	return resp.OK
}

// DEBUG SET-ACTIVE-EXPIRE 0 | 1
func (e *Engine) debugSetActiveExpire(c *commands.Ctx) resp.Value {
	on, _ := store.ParseInt(c.Args[2])
	e.reclaimOff.Store(on == 0)
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
		e.log.Warn("DEBUG RELOAD failed", "error", err)
		return errReloadLoad
	}
	e.log.Warn("DB reloaded by DEBUG RELOAD")
	return resp.OK
}

// DEBUG LOADAOF
func (e *Engine) debugLoadAOF(c *commands.Ctx) resp.Value {
	if err := e.unrecorded(c, e.storage.ReloadLog); err != nil {
		e.log.Warn("DEBUG LOADAOF failed", "error", err)
		return errLoadAOF
	}
	e.log.Info("Append Only File loaded by DEBUG LOADAOF")
	return resp.OK
}

// unrecorded calls fn without recording what it does to the keyspace: the files have it
// already. Every shard must be locked.
func (e *Engine) unrecorded(c *commands.Ctx, fn func() error) error {
	e.store.Record(store.AllShards, nil)
	if c.Group != nil {
		defer e.store.Record(store.AllShards, c.Group)
		c.Group.MarkAccounted()
	}
	return fn()
}
