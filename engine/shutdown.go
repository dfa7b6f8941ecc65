package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

var (
	errShutdownAbort = resp.Error("ERR No shutdown in progress.")
	errShutdownNone  = resp.Error("ERR SHUTDOWN is not possible: nobody owns this process")
	errShutdownSave  = resp.Error("ERR Errors trying to SHUTDOWN. Check logs.")
)

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
//
// Answers nothing where it works: the connection closes when the server goes.
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
	switch {
	case abort && (save || nosave || now || force), save && nosave:
		return commands.ErrSyntax
	case abort:
		return errShutdownAbort
	case !nosave && e.scripts.Busy() != nil:
		return resp.Error(e.scripts.Busy().Reply)
	case save && !force:
		return errShutdownSave // there is nowhere to save to yet
	case e.options.Shutdown == nil:
		return errShutdownNone
	}
	e.End()
	caller(c).closing = true
	e.options.Shutdown()
	return resp.None
}
