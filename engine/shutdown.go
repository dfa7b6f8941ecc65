package engine

import (
	"errors"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errShutdownAbort = resp.Error("ERR No shutdown in progress.")
	errShutdownNone  = resp.Error("ERR SHUTDOWN is not possible: nobody owns this process")
	errShutdownSave  = resp.Error("ERR Errors trying to SHUTDOWN. Check logs.")
)

// shutdownCommand returns the row of SHUTDOWN.
func (e *Engine) shutdownCommand() commands.Command {
	return commands.Command{
		Name: "shutdown", Arity: -1,
		Flags: commands.Admin | commands.NoScript | commands.Loading | commands.Stale | commands.NoMulti |
			commands.AllowBusy,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]", Handler: e.shutdown,
		Summary: "Ends the process when the commands under way have finished.",
	}
}

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
//
// Answers only if it fails: otherwise the connection closes with the server.
func (e *Engine) shutdown(c *commands.Ctx) resp.Value {
	var save, nosave, now, force, abort bool
	for _, arg := range c.Args[1:] {
		switch strings.ToLower(string(arg)) {
		case "nosave":
			nosave = true
		case "save":
			save = true
		case "now":
			now = true
		case "force":
			force = true
		case "abort":
			abort = true
		default:
			return commands.ErrSyntax
		}
	}
	opened := e.storage.Opened()
	switch {
	case abort && (save || nosave || now || force), save && nosave:
		return commands.ErrSyntax
	case abort:
		return errShutdownAbort
	case !nosave && e.scripts.Busy() != nil:
		return resp.Error(e.scripts.Busy().Reply)
	case e.options.Shutdown == nil:
		return errShutdownNone
	case save && !opened && !force:
		return errShutdownSave
	}
	s := caller(c)
	if e.storage.Loading() {
		save, nosave = false, true // as in Redis: a half-loaded keyspace must not replace the file
	}
	if save = save || !nosave && e.storage.HasSavePoints(); !save || !opened {
		mode := durable.SaveIfConfigured
		if nosave {
			mode = durable.SaveNever
		}
		e.storage.SetCloseMode(mode)
		s.closing = true
		e.exit()
		return resp.None
	}
	// This save shows whether the keyspace can be saved. Close saves again what
	// commands that still run change.
	return s.Await(0, func(over <-chan struct{}) resp.Value {
		e.repl.master.StopCopy() // the save would wait for it
		if e.storage.Save(over) != nil && !force {
			return errShutdownSave
		}
		e.storage.SetCloseMode(durable.SaveAlways)
		e.exit()
		return resp.None // the connection closes with the server
	}, nil)
}

// exit ends the process that runs the engine.
func (e *Engine) exit() {
	e.End()
	e.options.Shutdown()
}

// SaveBeforeEnd saves a snapshot, if there are save points and no log: SIGTERM
// asks for that first, since a server whose keys cannot be saved had better not
// end. As in Redis, a script past busy-reply-threshold that has written is waited
// for; others are ended. SaveBeforeEnd returns soon after insist is closed.
func (e *Engine) SaveBeforeEnd(insist <-chan struct{}) error {
	if !e.storage.Opened() || e.storage.Loading() || !e.storage.HasSavePoints() {
		return nil
	}
	e.scripts.StopReaders(true)
	e.repl.master.StopCopy() // the save would wait for it
	for {
		err := e.storage.Save(insist)
		switch {
		case err == nil, errors.Is(err, durable.ErrTorn): // the server is ending already
			return nil
		case !errors.Is(err, durable.ErrBusy):
			e.scripts.StopReaders(false)
			return err
		case e.storage.Logging():
			return nil
		}
		if !e.store.LockOrCancel(store.AllShards, insist) {
			return durable.ErrClosing
		}
		e.store.Unlock(store.AllShards)
	}
}

// Close ends what runs beside the sessions, which must have ended. It saves a
// snapshot if the directives or SHUTDOWN ask for one, and closes the log.
func (e *Engine) Close() error {
	if l := e.repl.link.Load(); l != nil {
		l.Close()
	}
	e.repl.master.Close()
	return e.storage.Close()
}
