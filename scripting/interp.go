package scripting

import (
	"fmt"
	"runtime/debug"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/redislib"
)

const internalError = "internal error in the script interpreter"

// An interp is a Lua state with Redis' globals, which scripts cannot change. It
// runs one script at a time; the engine pools those of EVAL.
type interp struct {
	caller
	meter     meter
	state     *lua.State
	libraries *redislib.Libraries

	// KEYS and ARGV of EVAL, which are the same tables for every script.
	keys, argv *lua.Table
	persistent bool     // functions keep values after the run
	owner      *library // whose functions they are; nil: EVAL's

	// The running script.
	script  *script
	loading *library // the library whose chunk is running and registers functions

	// The last script, which is often the next one, and its main function.
	lastScript *script
	lastMain   lua.Value

	args     [][]byte // of a command
	argText  []byte   // the text of its numbers
	resolved resolvedCommands
	replying bool // the script has returned
	unusable bool // do not pool this state again
}

// Sizes of the memory that a state uses again for each script.
const (
	arenaBytes   = 16 << 10
	arenaObjects = 32
)

// newInterp returns a state for EVAL, or, if persistent, for a library, whose
// functions keep values.
func newInterp(e *Engine, persistent bool) *interp {
	in := newUnboundInterp(e, persistent)
	in.state.Bind(bindings())
	return in
}

func newUnboundInterp(e *Engine, persistent bool) *interp {
	in := &interp{caller: caller{engine: e}, state: lua.NewState(), persistent: persistent}
	in.state.Host = in
	in.caller.meter = &in.meter
	in.meter.state, in.meter.tracker = in.state, e.runs
	in.meter.measure = in.reachableBytes
	in.openLibraries()
	in.state.Poll, in.state.Measure = in.meter.poll, in.meter.collect
	if !persistent {
		in.state.UseArena(arenaBytes, arenaObjects)
	}
	return in
}

func (in *interp) reachableBytes(limit int64) int64 {
	if in.owner != nil {
		return in.state.Reachable(limit, in.owner.roots()...)
	}
	return in.state.Reachable(limit, lua.TableValue(in.keys), lua.TableValue(in.argv))
}

// run runs a script. The arrays of the reply belong to c's scratch space.
func (in *interp) run(c *commands.Ctx, s *script, readOnly bool, keys, args [][]byte) (reply resp.Value) {
	in.start(c, s, readOnly, runScript, in.engine.maxMemory.Load())
	defer in.finish(&reply)
	in.keys.SetList(keys)
	in.argv.SetList(args)
	if in.lastScript != s {
		in.lastScript, in.lastMain = s, lua.FunctionValue(in.state.NewClosure(s.proto))
	}
	L := in.state.Main()
	L.Push(in.lastMain)
	return in.result(c, L.CallFirst(0))
}

// result returns the reply for what a script or a function has returned. An error that the
// script has caught does not count.
func (in *interp) result(c *commands.Ctx, v lua.Value) resp.Value {
	in.meter.errText, in.replying = "", true
	return in.toReply(c, &v, 0)
}

// start prepares the run of a script that may use so many bytes, 0 for any number.
func (in *interp) start(c *commands.Ctx, s *script, readOnly bool, kind runKind, memoryLimit int64) {
	in.script, in.replying = s, false
	in.begin(c, readOnly)
	in.crossSlots = !s.flags.declared || s.flags.crossSlots
	in.state.Random.Seed(uint32(c.NowUs))
	in.state.MaxTokens = in.engine.maxTokens()
	in.libraries.Reset()
	in.meter.begin(kind, memoryLimit)
	in.child.Out.Limit = in.meter.limit // of the reply of one command
	in.meter.info.follows = c.Mode.Is(commands.Follows)
	if kind == runFunction {
		in.meter.info.name, in.meter.command = s.sha, c.Args
	}
}

// finish is deferred: it makes an error the reply, and removes every trace of the script. If it
// cannot, it marks the state as unusable.
func (in *interp) finish(reply *resp.Value) {
	if r := recover(); r != nil {
		*reply = in.failed(r)
	}
	if !in.unusable {
		in.state.Reset()
	}
	in.meter.end() // which may collect what the state has dropped
	in.script = nil
	in.end()
	clear(in.args)
	in.args = in.args[:0]
	const keep = 4 << 10
	if cap(in.argText) > keep {
		in.argText = nil
	}
	if cap(in.args) > keep {
		in.args = nil
	}
}

// failed returns the reply for an error, or for a fault of the interpreter. There is an error
// after the script if there was no memory for the reply.
func (in *interp) failed(r any) (reply resp.Value) {
	defer func() {
		if r := recover(); r != nil {
			in.unusable = true
			reply = resp.Error("ERR " + internalError)
			in.countError(false, reply.Str())
			in.engine.logf("script %s: panic: %v\n%s", in.script.sha, r, debug.Stack())
		}
	}()
	e, ok := r.(*lua.Error)
	if !ok {
		panic(r)
	}
	if in.replying {
		in.unusable = true
		e = &lua.Error{Value: e.Value}
	}
	return in.errorReply(e)
}

func (in *interp) errorReply(e *lua.Error) resp.Value {
	reply := errorPosition{e.Line != 0, e.Source, e.Line}.reply(in.errorText(e.Value), in.script)
	if !in.locks.violated {
		in.countError(isCounted(&e.Value), reply.Str())
	}
	return reply
}

func (in *interp) errorText(v lua.Value) string {
	if v.IsTable() {
		// Redis 7.0.15 crashes on a table without a text.
		field := v.Table().Get(fieldErr)
		if s, ok := textOf(&field); ok {
			return s
		}
		return "ERR unknown error"
	}
	text := in.state.Main().ToString(v)
	return "ERR " + text.Str()
}

// An errorPosition is where a script failed.
type errorPosition struct {
	known  bool
	source string
	line   int
}

// reply returns the reply of a script that failed at p. text has a code word.
func (p errorPosition) reply(text string, s *script) resp.Value {
	text = resp.CString(text) + " script: " + s.sha
	if p.known {
		text += fmt.Sprintf(", on %s:%d", p.source, p.line)
	}
	return resp.Error(text + ".")
}

// textOf returns a string or the text of a number, as a copy.
func textOf(v *lua.Value) (string, bool) {
	switch v.Kind() {
	case lua.KindString:
		return string(v.Bytes()), true
	case lua.KindNumber:
		return lua.FormatNumber(v.Num()), true
	}
	return "", false
}
