package scripting

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A caller runs commands for one script. It is the only way from Lua to the
// command table, for the interpreter and for compiled scripts: the rules about
// what a script may call stand here.
type caller struct {
	engine   *Engine
	parent   *commands.Ctx
	child    commands.Ctx
	readOnly bool
	wrote    bool // something: from then on it may go on writing
	fence    guard
	chance   uint32 // which calls are timed
	meter    *meter // of the run
}

// begin prepares for a script that c runs.
func (r *caller) begin(c *commands.Ctx, readOnly bool) {
	r.parent, r.readOnly, r.wrote = c, readOnly, false
	c.Errors = commands.ErrorsNone
	r.fence = guard{unheld: c.Unheld}
	r.child.NowMs, r.child.NowUs = c.NowMs, c.NowUs
	r.child.Store, r.child.DB, r.child.DBIndex = c.Store, c.DB, c.DBIndex
	r.child.Settings, r.child.Caller = c.Settings, c.Caller
	r.child.Group, r.child.AfterRead = c.Group, c.AfterRead
	r.child.Proto, r.child.InScript = resp.RESP2, true
	r.child.Monitor = c.Monitor
}

// end keeps nothing of the script but scratch space.
func (r *caller) end() {
	r.parent.Tally.Take(&r.child.Tally)
	r.parent.Cut = r.meter.cut()
	r.parent = nil
	r.child.Store, r.child.DB, r.child.Settings, r.child.Caller = nil, nil, nil, nil
	r.child.Args, r.child.Cmd, r.child.Group, r.child.AfterRead = nil, nil, nil, nil
	r.child.Monitor = nil
	r.child.Reset()
}

// find returns the row that args name, nil where there is none.
func (e *Engine) find(args [][]byte) *commands.Command {
	cmd := e.table.Lookup(args[0])
	if cmd != nil && cmd.Subs != nil && len(args) > 1 {
		return cmd.Sub(args[1])
	}
	return cmd
}

// refusal is the error where a script may not call cmd with these arguments,
// the name first; nil is a command that does not exist.
func (r *caller) refusal(cmd *commands.Command, args [][]byte) string {
	switch {
	case cmd == nil:
		return errUnknownCommand
	case !cmd.ArityOK(len(args)):
		return errArity
	case cmd.Flags&commands.NoScript != 0 || cmd.Handler == nil:
		return errNotAllowed
	case r.readOnly && (cmd.Writes(args) || cmd.Is(commands.MayReplicate)):
		return errWrite
	}
	return r.unwritable(cmd, args)
}

// unwritable is the error where nothing may be written and the script's first
// command that writes is this one. Later ones may: half of a script helps nobody.
func (r *caller) unwritable(cmd *commands.Command, args [][]byte) (text string) {
	if !r.wrote && cmd.Writes(args) {
		text = r.engine.unwritable()
		r.wrote = text == ""
	}
	return text
}

// call runs a command that was found. The reply is valid until the next one.
func (r *caller) call(cmd *commands.Command, args [][]byte) resp.Value {
	if text := r.refusal(cmd, args); text != "" {
		if cmd != nil {
			r.child.Tally.CountNested(cmd, true, false)
		}
		r.engine.failed(text)
		return resp.Error(text)
	}
	if !r.fence.admits(cmd, args) {
		return resp.Error(errNotLocked)
	}
	if cmd.Writes(args) && !r.meter.dirty() {
		return resp.Error("ERR " + r.meter.why)
	}
	c := &r.child
	c.Reset()
	c.Cmd, c.Args = cmd, args
	if c.DB != nil { // SELECT for the rest of the script, SWAPDB for everybody
		c.Use(c.DBIndex)
	}
	reply := r.handle(cmd)
	c.Tally.CountNested(cmd, false, reply.IsError())
	if reply.IsError() {
		r.engine.failed(reply.Str())
	}
	return reply
}

// sampleEvery is how many calls there are for each that is timed.
const sampleEvery = 16

// handle runs the handler, and times one call in some.
func (r *caller) handle(cmd *commands.Command) resp.Value {
	o := &r.engine.options
	timed := r.chance%(sampleEvery<<16)>>16 == 0 // the high bits are the random ones
	r.chance = r.chance*1664525 + 1013904223
	if !timed || o.NowUs == nil || o.Took == nil {
		return r.child.Run()
	}
	startUs := o.NowUs()
	reply := r.child.Run()
	o.Took(cmd, o.NowUs()-startUs)
	return reply
}

// countError counts an error that a script answers, unless it is counted
// already: where a command failed.
func (r *caller) countError(counted bool, text string) {
	r.parent.Errors = commands.ErrorsInside
	if !counted {
		r.engine.failed(text)
	}
}

// isCounted reports whether an error is a table that says so.
func isCounted(value lua.LValue) bool {
	t, ok := value.(*lua.LTable)
	return ok && lua.LVAsBool(t.RawGetString(errorStatsField))
}
