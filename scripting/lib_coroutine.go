package scripting

import (
	"reflect"

	lua "github.com/yuin/gopher-lua"
)

func (in *interp) coroutineLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"create": in.coroutineCreate, "resume": in.coroutineResume, "running": in.coroutineRunning,
		"status": in.coroutineStatus, "wrap": in.coroutineWrap, "yield": in.coroutineYield,
	}
}

// coroutineBodySource wraps a coroutine's function so that the new thread
// installs the error hook first. It is in Lua, because a yield cannot cross a
// Go function.
const coroutineBodySource = `return function(install) return function(body) ` +
	`return function(...) install() return body(...) end end end`

func (in *interp) openCoroutines() {
	L := in.L
	scratch := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer scratch.Close()
	scratch.Push(scratch.NewFunction(lua.OpenCoroutine))
	scratch.Call(0, 1)
	lib := scratch.Get(-1).(*lua.LTable)
	in.coCreate = lib.RawGetString("create").(*lua.LFunction).GFunction
	in.coResume = lib.RawGetString("resume").(*lua.LFunction).GFunction

	proto, err := compile(coroutineBodySource, "=[C]", 0)
	if err != nil {
		panic(err)
	}
	L.Push(L.NewFunctionFromProto(proto))
	L.Call(0, 1)
	L.Push(L.NewFunction(func(L *lua.LState) int { L.Panic = in.hook; return 0 }))
	L.Call(1, 1)
	in.coroutineBody = L.Get(-1).(*lua.LFunction)
	L.SetTop(0)
}

func (in *interp) coroutineCreate(L *lua.LState) int {
	fn, ok := L.Get(1).(*lua.LFunction)
	if !ok || fn.IsG {
		in.argError(L, 1, "Lua function expected")
	}
	L.Push(in.coroutineBody)
	L.Push(fn)
	in.call(L, 1)
	body := L.Get(-1)
	L.SetTop(0)
	L.Push(body)
	in.grow(L, threadSize+valueSize*firstRegisters)
	ctx := L.RemoveContext() // the thread would derive a context of its own
	n := in.coCreate(L)
	L.SetContext(ctx)
	in.installCountHook(L.Get(-1).(*lua.LState))
	return n
}

func (in *interp) coroutineResume(L *lua.LState) int {
	thread, ok := L.Get(1).(*lua.LState)
	if !ok {
		in.argError(L, 1, "coroutine expected")
	}
	return in.resume(L, thread)
}

// resume runs the thread at stack index 1 with the arguments above it. It
// pushes true and values, or false and an error.
func (in *interp) resume(L, thread *lua.LState) int {
	if status := in.threadStatus(L, thread); status != "suspended" {
		L.Push(lua.LFalse)
		L.Push(lua.LString("cannot resume " + status + " coroutine"))
		return 2
	}
	goCalls, threadGoCalls, handlers := in.goCalls, in.threadGoCalls, len(in.handlers)
	pcallDepth, scratch := in.pcallDepth, in.meter.scratchBytes
	in.grow(L, valueSize*L.GetTop())
	in.enterGoCall(L)
	in.threadGoCalls = 0
	n := in.coResume(L)
	in.goCalls, in.threadGoCalls, in.pcallDepth = goCalls, threadGoCalls, pcallDepth
	in.handlers = in.handlers[:handlers]
	in.meter.scratchBytes = scratch
	if in.meter.stopRequested() {
		in.check(L, in.meter.poll()) // this error cannot be caught
	}
	if n == 2 && L.Get(-2) == lua.LFalse && thread.Dead {
		in.verbatim = false
		if L.Get(-1) == lua.LString("lua callstack overflow") {
			L.Pop(1)
			L.Push(lua.LString("stack overflow"))
		}
	}
	return n
}

func (in *interp) threadStatus(L, thread *lua.LState) string {
	L = in.scriptThread(L)
	switch {
	case thread.Dead:
		return "dead"
	case thread == L:
		return "running"
	}
	for L.Parent != nil {
		if L = in.scriptThread(L.Parent); L == thread {
			return "normal"
		}
	}
	return "suspended"
}

func (in *interp) coroutineWrap(L *lua.LState) int {
	in.coroutineCreate(L)
	thread := L.Get(-1).(*lua.LState)
	// The thread is also an upvalue, so that reachableBytes finds it.
	L.Push(L.NewClosure(func(L *lua.LState) int {
		L.Insert(thread, 1)
		n := in.resume(L, thread)
		if L.Get(-n) != lua.LFalse {
			return n - 1
		}
		value := L.Get(-1)
		if s, ok := asString(value); ok {
			value = lua.LString(in.where(L, 1) + s)
		}
		in.throw(L, value)
		return 0
	}, thread))
	return 1
}

func (in *interp) coroutineYield(L *lua.LState) int {
	if L == in.L || in.threadGoCalls > 0 || !onlyCalls(L) {
		in.throw(L, lua.LString("attempt to yield across metamethod/C-call boundary"))
	}
	return -1
}

func (in *interp) coroutineRunning(L *lua.LState) int {
	if thread := in.scriptThread(L); thread == in.L {
		L.Push(lua.LNil)
	} else {
		L.Push(thread)
	}
	return 1
}

func (in *interp) coroutineStatus(L *lua.LState) int {
	thread, ok := L.Get(1).(*lua.LState)
	if !ok {
		in.argError(L, 1, "coroutine expected")
	}
	L.Push(lua.LString(in.threadStatus(L, thread)))
	return 1
}

// onlyCalls reports whether every function on a thread's stack was entered by a
// plain call. A metamethod or an iterator runs in a nested loop on Go's stack,
// which a yield would abandon; Lua 5.1 forbids that as well.
func onlyCalls(L *lua.LState) bool {
	dbg, ok := L.GetStack(0)
	if !ok {
		return false
	}
	f := reflect.ValueOf(dbg).Elem().FieldByName("frame")
	for f = f.Elem().FieldByName("Parent"); !f.IsNil(); f = f.Elem().FieldByName("Parent") {
		fn := f.Elem().FieldByName("Fn").Elem()
		if fn.FieldByName("IsG").Bool() {
			return false
		}
		code := fn.FieldByName("Proto").Elem().FieldByName("Code")
		inst := uint32(code.Index(int(f.Elem().FieldByName("Pc").Int()) - 1).Uint())
		if op := opCode(inst); op != lua.OP_CALL && op != lua.OP_TAILCALL {
			return false
		}
	}
	return true
}
