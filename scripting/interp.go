package scripting

import (
	"errors"
	"fmt"
	"runtime/debug"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// Sizes of Lua's stacks. Frames and registers grow on demand; a script that
// reaches the end gets "stack overflow", as Lua's LUAI_MAXCALLS gives it.
const (
	maxFrames         = 20000
	maxThreadFrames   = 1000 // in coroutines and inner pcalls: they nest, and each nests Go's stack
	firstRegisters    = 1024
	maxRegisters      = 1 << 19
	registerStep      = 8192
	maxBoundaries     = 195 // nested pcalls and resumes: LUAI_MAXCCALLS
	maxCStack         = 8000
	interpreterErrors = "internal error in the script interpreter"
)

// An interp is one interpreter state with its sealed environment. One script
// at a time runs in it; the engine pools them.
type interp struct {
	caller
	meter  meter
	L      *lua.LState
	env    *lua.LTable // what functions see as globals, hidden names included
	public *lua.LTable // what _G shows
	sealed map[*lua.LTable]*lua.LTable

	trampoline  *lua.LFunction // runs what pcall calls, see guard
	next        *lua.LFunction
	ipairsStep  *lua.LFunction
	armed       *lua.LFunction // wraps the body of a coroutine, see arm
	notCallable *lua.LFunction
	coCreate    lua.LGFunction
	coResume    lua.LGFunction
	stringMeta  *lua.LTable // what getmetatable("") shows

	// The script that runs.
	script   *script
	random   random
	json     jsonSettings
	jsonNull *lua.LUserData // cjson.null

	loading *library // the library whose chunk runs, and registers functions

	// The functions of the script that ran last: often the next one, too.
	lastScript *script
	lastMain   *lua.LFunction

	args    [][]byte
	argText []byte
	listed  bool // KEYS and ARGV are those of a script, which may be over

	extents map[*lua.LTable]int // how far arrays were filled with nils, see reserve

	verbatim   bool                        // what is being raised is Lua's text already
	suspect    bool                        // do not pool this state again
	boundaries int                         // Go calls that nest Lua now, in all threads
	inThread   int                         // the same in the running thread: it cannot yield
	catchers   int                         // pcalls around what runs now
	handlers   []errorHandler              // of the xpcalls around
	hosts      map[*lua.LState]*lua.LState // who called the pcall that runs in a thread
	spare      []*lua.LState
	failure    failure // where the last uncaught error was raised
}

type errorHandler struct {
	thread *lua.LState
	fn     *lua.LFunction // nil: a pcall, which has none
}

// failure is a place in a source.
type failure struct {
	known  bool
	source string
	line   int
}

func newInterp(e *Engine) *interp {
	in := &interp{caller: caller{engine: e}, sealed: make(map[*lua.LTable]*lua.LTable), hosts: make(map[*lua.LState]*lua.LState)}
	in.L = lua.NewState(lua.Options{
		CallStackSize:       maxFrames,
		RegistrySize:        firstRegisters,
		RegistryMaxSize:     maxRegisters,
		RegistryGrowStep:    registerStep,
		SkipOpenLibs:        true,
		MinimizeStackMemory: true,
	})
	in.L.Options.CallStackSize = maxThreadFrames // what coroutines inherit
	in.meter.measure = in.held
	in.caller.meter = &in.meter
	in.give(in.L)
	in.buildSandbox()
	return in
}

// run runs a script to its end and returns its reply. The strings in the
// reply are the script's own, the arrays are c's scratch.
func (in *interp) run(c *commands.Ctx, s *script, readOnly bool, keys, args [][]byte) (reply resp.Value) {
	in.start(c, s, readOnly, runScript)
	defer in.finish(&reply)

	in.listed = true
	in.env.RawSetString("KEYS", in.list(keys))
	in.env.RawSetString("ARGV", in.list(args))
	L := in.L
	if in.lastScript != s {
		in.lastScript, in.lastMain = s, L.NewFunctionFromProto(s.proto)
	}
	L.Push(in.trampoline)
	L.Push(in.lastMain)
	if err := L.PCall(1, 1, nil); err != nil {
		return in.errorReply(err)
	}
	in.meter.why = ""
	reply = in.toReply(c, L.Get(-1), 0)
	if in.meter.why != "" {
		in.suspect = true
		return in.errorReply(errors.New(in.meter.why))
	}
	return reply
}

// start makes the state ready to run one script or function.
func (in *interp) start(c *commands.Ctx, s *script, readOnly bool, kind runKind) {
	in.script = s
	if kind != runScript {
		in.unlist() // a function has parameters instead
	}
	in.begin(c, readOnly)
	in.random = newRandom(uint32(c.NowUs))
	in.json = defaultJSON
	in.meter.begin(in.engine.watch, kind, in.engine.memoryLimit())
	in.meter.follows = c.Follows
	if kind == runFunction {
		in.meter.name, in.meter.command = s.sha, c.Args
	}
}

// finish leaves nothing of the script behind. What cannot be undone marks the
// state, which is then thrown away.
func (in *interp) finish(reply *resp.Value) {
	in.meter.end()
	if r := recover(); r != nil {
		in.suspect = true
		*reply = resp.Error("ERR " + interpreterErrors)
		in.countError(false, reply.Str())
		in.engine.logf("script %s: panic: %v\n%s", in.script.sha, r, debug.Stack())
		return
	}
	in.L.SetTop(0)
	in.L.G.CurrentThread = in.L
	in.script = nil
	in.end()
	in.verbatim, in.boundaries, in.inThread, in.catchers = false, 0, 0, 0
	in.handlers = in.handlers[:0]
	in.failure = failure{}
	clear(in.hosts)
	in.extents = nil
	in.keepSpare()
	const keep = 64 << 10
	if cap(in.argText) > keep {
		in.argText = nil
		in.unlist()
	}
	if cap(in.args) > keep/16 {
		in.args = nil
	}
}

// unlist takes KEYS and ARGV of the last script away. The next script has its
// own put in their place, which costs less.
func (in *interp) unlist() {
	if in.listed {
		in.listed = false
		in.env.RawSetString("KEYS", lua.LNil)
		in.env.RawSetString("ARGV", lua.LNil)
	}
}

// list makes KEYS or ARGV. The values share one string.
func (in *interp) list(values [][]byte) *lua.LTable {
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

// errorReply is what a script that failed answers.
func (in *interp) errorReply(err error) resp.Value {
	reply := in.failure.reply(in.errorText(err), in.script)
	var value lua.LValue
	if e := (*lua.ApiError)(nil); errors.As(err, &e) {
		value = e.Object
	}
	if !in.fence.missed {
		in.countError(isCounted(value), reply.Str())
	}
	return reply
}

// errorText is the text of an error that nobody caught, with its code word.
func (in *interp) errorText(err error) string {
	var value lua.LValue = lua.LString(err.Error())
	if e := (*lua.ApiError)(nil); errors.As(err, &e) {
		value = e.Object
		if e.Type == lua.ApiErrorPanic {
			in.suspect = true
			in.engine.logf("script %s: %s", in.script.sha, e.Object.String())
			value = lua.LString(interpreterErrors)
		}
	}
	text := "ERR unknown error"
	if t, ok := value.(*lua.LTable); ok {
		// Redis 7.0.15 dies of a table without a text.
		if s, ok := asString(t.RawGetString("err")); ok {
			text = s
		}
	} else {
		text = "ERR " + in.toString(in.L, value)
	}
	return text
}

// reply is what a script that failed answers. text has its code word.
func (f failure) reply(text string, s *script) resp.Value {
	text = cString(text) + " script: " + s.sha
	if f.known {
		text += fmt.Sprintf(", on %s:%d", f.source, f.line)
	}
	return resp.Error(text + ".")
}

// guard is the function that pcall and run put between themselves and what
// they call: it makes errors go through hook while the failing frames are
// still there, and turns an overflow of gopher-lua's frames into an error.
func (in *interp) guard(L *lua.LState) int {
	L.Panic = in.hook
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if _, ok := r.(*lua.ApiError); ok {
			panic(r)
		}
		in.suspect = true
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
	in.cross(L)
	L.Call(L.GetTop()-1, lua.MultRet)
	in.uncross()
	return L.GetTop()
}

// dropHandlers drops the handlers of xpcalls: there are no frames left to run
// them in.
func (in *interp) dropHandlers() {
	for i := range in.handlers {
		in.handlers[i].fn = nil
	}
}

// callable reports whether a value can be called.
func callable(L *lua.LState, v lua.LValue) bool {
	if _, ok := v.(*lua.LFunction); ok {
		return true
	}
	_, ok := L.GetMetaField(v, "__call").(*lua.LFunction)
	return ok
}

// cross counts a call from Go into Lua. Each nests Go's stack, so there is a
// bound; and what lies below it cannot yield.
func (in *interp) cross(L *lua.LState) {
	in.boundaries++
	in.inThread++
	if in.boundaries > maxBoundaries {
		in.throw(L, lua.LString("C stack overflow"))
	}
}

func (in *interp) uncross() {
	in.boundaries--
	in.inThread--
}

// call calls the function below its nargs arguments on the stack, for one
// result.
func (in *interp) call(L *lua.LState, nargs int) {
	in.cross(L)
	L.Call(nargs, 1)
	in.uncross()
}

// hook runs where an error is raised, before anything is unwound. L's top is
// the error.
func (in *interp) hook(L *lua.LState) {
	value := L.Get(-1)
	if !in.verbatim {
		text, _ := value.(lua.LString)
		value = lua.LString(in.blame(L, string(text)))
	}
	in.verbatim = false
	if n := len(in.handlers); n > 0 && in.handlers[n-1].thread == L && in.handlers[n-1].fn != nil && !in.fence.missed {
		value = in.handle(L, in.handlers[n-1].fn, value)
	}
	if in.catchers == 0 && L == in.L {
		in.failure = in.locate(L)
	}
	// A trace would cost more than the script; the text "-" prevents it.
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: value, StackTrace: "-"})
}

// locate finds what the end of an error reply names: the innermost function,
// or its caller when that is not Lua.
func (in *interp) locate(L *lua.LState) failure {
	f, ok := in.stackAt(L, 0)
	if ok && f.fn != nil && f.fn.IsG {
		f, ok = in.stackAt(L, 1)
	}
	if !ok {
		return failure{}
	}
	return failure{true, f.source(), f.line()}
}

// throw raises a value as it is. It does not return.
func (in *interp) throw(L *lua.LState, value lua.LValue) {
	in.verbatim = true
	L.Error(value, 0)
}

// fail raises a text with the position of the Lua code that called us.
func (in *interp) fail(L *lua.LState, text string) {
	in.throw(L, lua.LString(in.where(L, 1)+text))
}

func (in *interp) failf(L *lua.LState, format string, args ...any) {
	in.fail(L, fmt.Sprintf(format, args...))
}
