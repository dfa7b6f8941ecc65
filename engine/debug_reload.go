package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

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
