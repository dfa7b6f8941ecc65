package scripting

import (
	"errors"
	"fmt"
	"runtime/debug"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// Sizes of Lua's stacks. Frames and registers grow on demand. A script that
// reaches the limit gets "stack overflow", as with LUAI_MAXCALLS in C.
const (
	maxFrames         = 20000
	maxThreadFrames   = 1000 // of coroutines and inner pcalls, each of which also nests Go's stack
	firstRegisters    = 1024
	maxRegisters      = 1 << 19
	registerStep      = 8192
	maxGoCalls        = 195 // nested calls from Go into Lua, as LUAI_MAXCCALLS
	maxCStack         = 8000
	interpreterErrors = "internal error in the script interpreter"
)

// An interp is an interpreter state with a sealed environment. It runs one
// script at a time; the engine pools states.
type interp struct {
	caller
	meter  meter
	L      *lua.LState
	env    *lua.LTable // the globals of functions, with the hidden names
	public *lua.LTable // the content of _G
	sealed map[*lua.LTable]*lua.LTable

	trampoline    *lua.LFunction // runs the function called by pcall; see callWithHook
	next          *lua.LFunction
	ipairsStep    *lua.LFunction
	coroutineBody *lua.LFunction // wraps the body of a coroutine; see coroutineBodySource
	notCallable   *lua.LFunction
	coCreate      lua.LGFunction
	coResume      lua.LGFunction
	stringMeta    *lua.LTable // the result of getmetatable("")

	// The running script.
	script   *script
	random   random
	json     jsonSettings
	jsonNull *lua.LUserData // cjson.null

	loading *library // the library whose chunk is running and registers functions

	// The last script, which is often the next one, and its main function.
	lastScript *script
	lastMain   *lua.LFunction

	args    [][]byte
	argText []byte
	keysSet bool // KEYS and ARGV are set, possibly by the last script

	extents map[*lua.LTable]int // how far arrays were filled with nils; see reserveArray

	verbatim      bool                        // the value being raised needs no position
	unusable      bool                        // do not pool this state again
	goCalls       int                         // nested calls from Go into Lua, in all threads
	threadGoCalls int                         // those of the running thread; it can yield if 0
	pcallDepth    int                         // pcalls around the running function
	handlers      []errorHandler              // of the enclosing xpcalls
	pcallCallers  map[*lua.LState]*lua.LState // by the thread of a pcall, the thread that called it
	spareThreads  []*lua.LState
	errorPos      errorPosition // of the last uncaught error
}

type errorHandler struct {
	thread *lua.LState
	fn     *lua.LFunction // nil for pcall
}

type errorPosition struct {
	known  bool
	source string
	line   int
}

func newInterp(e *Engine) *interp {
	in := &interp{
		caller: caller{engine: e}, sealed: make(map[*lua.LTable]*lua.LTable),
		pcallCallers: make(map[*lua.LState]*lua.LState),
	}
	in.L = lua.NewState(lua.Options{
		CallStackSize:       maxFrames,
		RegistrySize:        firstRegisters,
		RegistryMaxSize:     maxRegisters,
		RegistryGrowStep:    registerStep,
		SkipOpenLibs:        true,
		MinimizeStackMemory: true,
	})
	in.L.Options.CallStackSize = maxThreadFrames // inherited by coroutines
	in.meter.measure = in.reachableBytes
	in.caller.meter = &in.meter
	in.installCountHook(in.L)
	in.buildSandbox()
	return in
}

// run runs a script. The strings of the reply belong to the script, the arrays
// to c's scratch space.
func (in *interp) run(c *commands.Ctx, s *script, readOnly bool, keys, args [][]byte) (reply resp.Value) {
	in.start(c, s, readOnly, runScript)
	defer in.finish(&reply)

	in.keysSet = true
	in.env.RawSetString("KEYS", in.stringTable(keys))
	in.env.RawSetString("ARGV", in.stringTable(args))
	L := in.L
	if in.lastScript != s {
		in.lastScript, in.lastMain = s, L.NewFunctionFromProto(s.proto)
	}
	L.Push(in.trampoline)
	L.Push(in.lastMain)
	if err := L.PCall(1, 1, nil); err != nil {
		return in.errorReply(err)
	}
	return in.result(c)
}

// result returns the reply for what a script or a function has returned, or an error
// if there is no memory for the reply. An error that the script has caught does not
// count.
func (in *interp) result(c *commands.Ctx) resp.Value {
	in.meter.errText = ""
	reply := in.toReply(c, in.L.Get(-1), 0)
	if in.meter.errText != "" {
		in.unusable = true
		return in.errorReply(errors.New(in.meter.errText))
	}
	return reply
}

func (in *interp) start(c *commands.Ctx, s *script, readOnly bool, kind runKind) {
	in.script = s
	if kind != runScript {
		in.clearKeysAndArgv() // a function has parameters instead
	}
	in.begin(c, readOnly)
	in.random = newRandom(uint32(c.NowUs))
	in.json = defaultJSON
	in.meter.begin(in.engine.runs, kind, in.engine.memoryLimit())
	in.meter.follows = c.Follows
	if kind == runFunction {
		in.meter.name, in.meter.command = s.sha, c.Args
	}
}

// finish removes every trace of the script. If it cannot, it marks the state as
// unusable.
func (in *interp) finish(reply *resp.Value) {
	in.meter.end()
	if r := recover(); r != nil {
		in.unusable = true
		*reply = resp.Error("ERR " + interpreterErrors)
		in.countError(false, reply.Str())
		in.end()
		in.engine.logf("script %s: panic: %v\n%s", in.script.sha, r, debug.Stack())
		return
	}
	in.L.SetTop(0)
	in.L.G.CurrentThread = in.L
	in.script = nil
	in.end()
	in.verbatim, in.goCalls, in.threadGoCalls, in.pcallDepth = false, 0, 0, 0
	in.handlers = in.handlers[:0]
	in.errorPos = errorPosition{}
	clear(in.pcallCallers)
	in.extents = nil
	in.trimSpareThreads()
	const keep = 64 << 10
	if cap(in.argText) > keep {
		in.argText = nil
		in.clearKeysAndArgv()
	}
	if cap(in.args) > keep/16 {
		in.args = nil
	}
}

// clearKeysAndArgv removes KEYS and ARGV of the last script. A following script
// replaces them, which is cheaper.
func (in *interp) clearKeysAndArgv() {
	if in.keysSet {
		in.keysSet = false
		in.env.RawSetString("KEYS", lua.LNil)
		in.env.RawSetString("ARGV", lua.LNil)
	}
}

// stringTable returns KEYS or ARGV. The values share one string.
func (in *interp) stringTable(values [][]byte) *lua.LTable {
	t := in.L.CreateTable(len(values), 0)
	in.argText = in.argText[:0]
	for _, v := range values {
		in.argText = append(in.argText, v...)
	}
	text := string(in.argText)
	for i, v := range values {
		t.RawSetInt(i+1, lua.LString(text[:len(v)]))
		text = text[len(v):]
	}
	return t
}

func (in *interp) errorReply(err error) resp.Value {
	reply := in.errorPos.reply(in.errorText(err), in.script)
	var value lua.LValue
	if e := (*lua.ApiError)(nil); errors.As(err, &e) {
		value = e.Object
	}
	if !in.locks.violated {
		in.countError(isCounted(value), reply.Str())
	}
	return reply
}

func (in *interp) errorText(err error) string {
	var value lua.LValue = lua.LString(err.Error())
	if e := (*lua.ApiError)(nil); errors.As(err, &e) {
		value = e.Object
		if e.Type == lua.ApiErrorPanic {
			in.unusable = true
			in.engine.logf("script %s: %s", in.script.sha, e.Object.String())
			value = lua.LString(interpreterErrors)
		}
	}
	text := "ERR unknown error"
	if t, ok := value.(*lua.LTable); ok {
		// Redis 7.0.15 crashes on a table without a text.
		if s, ok := asString(t.RawGetString("err")); ok {
			text = s
		}
	} else {
		text = "ERR " + in.toString(in.L, value)
	}
	return text
}

// reply returns the reply of a script that failed at p. text has a code word.
func (p errorPosition) reply(text string, s *script) resp.Value {
	text = resp.CString(text) + " script: " + s.sha
	if p.known {
		text += fmt.Sprintf(", on %s:%d", p.source, p.line)
	}
	return resp.Error(text + ".")
}

// callWithHook is the function through which pcall and run call others. It
// makes hook run while the failing frames still exist, and turns an overflow of
// gopher-lua's frames into an error.
func (in *interp) callWithHook(L *lua.LState) int {
	L.Panic = in.hook
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if _, ok := r.(*lua.ApiError); ok {
			panic(r)
		}
		in.unusable = true
		in.dropHandlers()
		if text := fmt.Sprint(r); text != "lua callstack overflow" {
			in.engine.logf("script %s: panic: %s\n%s", in.script.sha, text, debug.Stack())
			in.throw(L, lua.LString(interpreterErrors))
		}
		in.throw(L, lua.LString(in.where(L, 0)+"stack overflow"))
	}()
	if _, ok := L.Get(1).(*lua.LFunction); !ok && !callable(L, L.Get(1)) {
		in.throw(L, lua.LString("attempt to call a "+typeName(L.Get(1))+" value"))
	}
	in.enterGoCall(L)
	L.Call(L.GetTop()-1, lua.MultRet)
	in.leaveGoCall()
	return L.GetTop()
}

// dropHandlers drops the handlers of xpcalls. There are no frames left to run
// them in.
func (in *interp) dropHandlers() {
	for i := range in.handlers {
		in.handlers[i].fn = nil
	}
}

func callable(L *lua.LState, v lua.LValue) bool {
	if _, ok := v.(*lua.LFunction); ok {
		return true
	}
	_, ok := L.GetMetaField(v, "__call").(*lua.LFunction)
	return ok
}

// enterGoCall counts a call from Go into Lua. The number is limited, since each
// nests Go's stack, and the functions below it cannot yield.
func (in *interp) enterGoCall(L *lua.LState) {
	in.goCalls++
	in.threadGoCalls++
	if in.goCalls > maxGoCalls {
		in.throw(L, lua.LString("C stack overflow"))
	}
}

func (in *interp) leaveGoCall() {
	in.goCalls--
	in.threadGoCalls--
}

// call calls the function below its nargs arguments on the stack, for one
// result.
func (in *interp) call(L *lua.LState, nargs int) {
	in.enterGoCall(L)
	L.Call(nargs, 1)
	in.leaveGoCall()
}

// hook runs when an error is raised, before the stack is unwound. The error is
// on top of L's stack.
func (in *interp) hook(L *lua.LState) {
	value := L.Get(-1)
	if !in.verbatim {
		text, _ := value.(lua.LString)
		value = lua.LString(in.describeError(L, string(text)))
	}
	in.verbatim = false
	if n := len(in.handlers); n > 0 && !in.locks.violated {
		if h := in.handlers[n-1]; h.thread == L && h.fn != nil {
			value = in.runErrorHandler(L, h.fn, value)
		}
	}
	if in.pcallDepth == 0 && L == in.L {
		in.errorPos = in.currentPosition(L)
	}
	// A stack trace would cost more than the script; the text "-" prevents it.
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: value, StackTrace: "-"})
}

// currentPosition returns the position at the end of an error reply: that of
// the innermost function, or of its caller if it is a Go function.
func (in *interp) currentPosition(L *lua.LState) errorPosition {
	f, ok := in.stackAt(L, 0)
	if ok && f.fn != nil && f.fn.IsG {
		f, ok = in.stackAt(L, 1)
	}
	if !ok {
		return errorPosition{}
	}
	return errorPosition{true, f.source(), f.line()}
}

// throw raises a value unchanged. It does not return.
func (in *interp) throw(L *lua.LState, value lua.LValue) {
	in.verbatim = true
	L.Error(value, 0)
}

// fail raises a text with the position of the Lua code that called the
// function.
func (in *interp) fail(L *lua.LState, text string) {
	in.throw(L, lua.LString(in.where(L, 1)+text))
}

func (in *interp) failf(L *lua.LState, format string, args ...any) {
	in.fail(L, fmt.Sprintf(format, args...))
}
