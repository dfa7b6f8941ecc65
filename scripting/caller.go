package scripting

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A caller runs commands for one script. It is the only way from Lua to the
// command table and enforces which commands a script may call.
type caller struct {
	engine   *Engine
	parent   *commands.Ctx
	child    commands.Ctx
	readOnly bool
	wrote    bool // it has written; later writes are not refused
	// crossSlots permits calls whose slot is not that of the ones before.
	crossSlots bool
	locks      lockChecker
	chance     uint32 // state of the generator that chooses the calls to time
	meter      *meter // of the run
}

func (r *caller) begin(c *commands.Ctx, readOnly bool) {
	r.parent, r.readOnly, r.wrote = c, readOnly, false
	c.Errors = commands.NoErrors
	r.locks = lockChecker{unlocked: c.Unheld}
	r.child.Nest(c)
}

func (r *caller) end() {
	r.parent.Cut = r.meter.cut()
	r.parent = nil
	r.child.Nest(nil)
}

// lookupCommand returns the command named by args, or nil.
func (e *Engine) lookupCommand(args [][]byte) *commands.Command {
	cmd := e.table.Lookup(args[0])
	if cmd != nil && cmd.Subs != nil && len(args) > 1 {
		return cmd.Sub(args[1])
	}
	return cmd
}

// refusal returns the error if a script may not call cmd, which is nil for an
// unknown command.
func (r *caller) refusal(cmd *commands.Command, args [][]byte) string {
	switch {
	case cmd == nil:
		return errUnknownCommand
	case !cmd.ArityOK(len(args)):
		return errArity
	case !callable(cmd):
		return errNotAllowed
	}
	return r.refusalNow(cmd, args)
}

// callable reports whether scripts may call cmd at all.
func callable(cmd *commands.Command) bool {
	return cmd.Flags&commands.NoScript == 0 && cmd.Handler != nil
}

// refusalNow is the part of refusal that depends on the time of the call.
func (r *caller) refusalNow(cmd *commands.Command, args [][]byte) string {
	if !cmd.Is(commands.Stale) && r.engine.staleRefusal(r.parent) != "" {
		return errStaleReplica
	}
	if guard := r.child.Guard(); guard != nil {
		if text := guard.RefuseCall(cmd, args); text != "" {
			return text
		}
	}
	if r.readOnly && (cmd.Writes(args) || cmd.Is(commands.MayReplicate)) {
		return errWrite
	}
	if text := r.writeRefusal(cmd, args); text != "" || !r.child.Settings.Cluster {
		return text
	}
	return r.slotRefusal(cmd, args)
}

// slotRefusal returns the error for a call that other nodes of a cluster would have to run.
func (r *caller) slotRefusal(cmd *commands.Command, args [][]byte) string {
	slot, ok := cmd.SlotOf(args)
	switch {
	case !ok:
		return errManySlots
	case slot == commands.NoSlot || r.crossSlots:
	case r.child.Env.Slot == commands.NoSlot:
		r.child.Env.Slot = slot
	case r.child.Env.Slot != slot:
		return errOtherSlot
	}
	return ""
}

// writeRefusal returns the error if writes are refused now and cmd would be the
// script's first. Later ones are permitted, so that no script stops halfway.
func (r *caller) writeRefusal(cmd *commands.Command, args [][]byte) (text string) {
	if !r.wrote && cmd.Writes(args) {
		text = r.engine.writeRefusal(r.parent)
		if text == "" && r.parent.Mode.Is(commands.OutOfMemory) && cmd.Is(commands.DenyOOM) {
			text = commands.ErrOOM.Str()
		}
		r.wrote = text == ""
	}
	return text
}

// call runs a command, which may be nil. The reply is valid until the next
// call.
func (r *caller) call(cmd *commands.Command, args [][]byte) resp.Value {
	if text := r.refusal(cmd, args); text != "" {
		return r.refuse(cmd, text)
	}
	return r.perform(cmd, args)
}

// callResolved is call for what a resolvedCall knows.
func (r *caller) callResolved(cmd *commands.Command, args [][]byte) resp.Value {
	if text := r.refusalNow(cmd, args); text != "" {
		return r.refuse(cmd, text)
	}
	return r.perform(cmd, args)
}

func (r *caller) refuse(cmd *commands.Command, text string) resp.Value {
	if cmd != nil {
		r.child.CountNested(cmd, true, false)
	}
	r.engine.reportError(text)
	return resp.Error(text)
}

// perform runs a command that is not refused.
func (r *caller) perform(cmd *commands.Command, args [][]byte) resp.Value {
	if !r.locks.allows(cmd, args) {
		return resp.Error(errNotLocked)
	}
	if cmd.Writes(args) && !r.meter.markWrite() {
		return resp.Error("ERR " + r.meter.errText)
	}
	c := &r.child
	c.Reset()
	c.Call(cmd, args)
	if c.DB != nil { // SELECT lasts for the script, SWAPDB affects everybody
		c.Use(c.DBIndex)
	}
	reply := r.runHandler(cmd)
	c.CountNested(cmd, false, reply.IsError())
	if reply.IsError() {
		r.engine.reportError(reply.Str())
	}
	return reply
}

const sampleEvery = 16

// runHandler runs the handler, and times a sample of the calls and those that Measures
// names.
func (r *caller) runHandler(cmd *commands.Command) resp.Value {
	o := &r.engine.options
	sampled := r.chance%(sampleEvery<<16)>>16 == 0 // the high bits are random
	r.chance = r.chance*1664525 + 1013904223
	if o.NowUs == nil || o.OnCallTime == nil || !sampled && !o.Measures(cmd) {
		return r.child.Run()
	}
	startUs := o.NowUs()
	reply := r.child.Run()
	o.OnCallTime(&r.child, o.NowUs()-startUs, sampled)
	return reply
}

// countError counts an error that a script answers, unless a failed command has
// counted it.
func (r *caller) countError(counted bool, text string) {
	r.parent.Errors = commands.ErrorsCounted
	if !counted {
		r.engine.reportError(text)
	}
}
