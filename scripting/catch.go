package scripting

import (
	"errors"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// protect calls the function at stack index 1 with the arguments above it and
// catches what it raises. The results are left on the stack, or nothing.
//
// What is called runs in a thread of its own, because gopher-lua detaches
// every local of the whole thread from the closures that share it when an
// error is raised, also those of functions that go on.
func (in *interp) protect(L *lua.LState, handler *lua.LFunction) (value lua.LValue, failed bool) {
	nargs := L.GetTop()
	in.grow(L, valueSize*nargs)
	boundaries, inThread, catchers, handlers := in.boundaries, in.inThread, in.catchers, len(in.handlers)
	working := in.meter.working
	thread := in.spareThread()
	in.hosts[thread] = L
	in.handlers = append(in.handlers, errorHandler{thread, handler})
	in.catchers++
	thread.Push(in.trampoline)
	for i := 1; i <= nargs; i++ {
		thread.Push(L.Get(i))
	}
	L.SetTop(0)
	err := thread.PCall(nargs, lua.MultRet, nil)
	in.boundaries, in.inThread, in.catchers = boundaries, inThread, catchers
	in.handlers = in.handlers[:handlers]
	in.meter.working = working
	delete(in.hosts, thread)
	if in.meter.stopped() {
		in.check(L, in.meter.beat()) // nobody catches that
	}
	if err == nil {
		for i := 1; i <= thread.GetTop(); i++ {
			L.Push(thread.Get(i))
		}
		thread.SetTop(0)
		in.spare = append(in.spare, thread)
		return nil, false
	}
	in.verbatim = false
	if in.fence.missed {
		in.throw(L, lua.LString(errNotLocked)) // nothing catches this
	}
	var e *lua.ApiError
	if !errors.As(err, &e) || e.Type == lua.ApiErrorPanic {
		in.suspect = true
		return lua.LString(interpreterErrors), true
	}
	if !in.suspect {
		thread.SetTop(0)
		in.spare = append(in.spare, thread)
	}
	return e.Object, true
}

// spareThread returns a thread for protect. The outermost gets more frames:
// all of them together must not exhaust Go's stack.
func (in *interp) spareThread() *lua.LState {
	frames := maxThreadFrames
	if in.catchers == 0 {
		frames = maxFrames
	}
	for i := len(in.spare) - 1; i >= 0; i-- {
		if thread := in.spare[i]; thread.Options.CallStackSize == frames {
			in.spare = slices.Delete(in.spare, i, i+1)
			return thread
		}
	}
	in.L.Options.CallStackSize = frames
	ctx := in.L.RemoveContext() // or the thread would get a context of its own
	thread, _ := in.L.NewThread()
	in.L.SetContext(ctx)
	in.L.Options.CallStackSize = maxThreadFrames
	in.give(thread)
	return thread
}

// keepSpare drops what only deeply nested pcalls need.
func (in *interp) keepSpare() {
	const most = 4
	if len(in.spare) > most {
		in.spare = slices.Delete(in.spare, 0, len(in.spare)-most) // the outermost came back last
	}
}

// scriptThread is the thread that a script knows: the coroutine, or the main
// thread, inside which pcall started this one.
func (in *interp) scriptThread(L *lua.LState) *lua.LState {
	for in.hosts[L] != nil {
		L = in.hosts[L]
	}
	return L
}

// pcall answers an error table's text in place of the table, as Redis' does.
func (in *interp) pcall(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(lua.LFalse)
		L.Push(lua.LString("attempt to call a nil value"))
		return 2
	}
	value, failed := in.protect(L, nil)
	if !failed {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.SetTop(0)
	L.Push(lua.LFalse)
	t, ok := value.(*lua.LTable)
	if !ok {
		L.Push(value)
		return 2
	}
	text := in.index(L, t, "err")
	if _, ok := asString(text); ok {
		L.Push(text)
		return 2
	}
	L.Push(value)
	L.Push(text)
	return 3
}

func (in *interp) xpcall(L *lua.LState) int {
	if L.GetTop() < 2 {
		in.argError(L, 2, "value expected")
	}
	handler, ok := L.Get(2).(*lua.LFunction)
	if !ok {
		handler = in.notCallable
	}
	L.SetTop(1)
	value, failed := in.protect(L, handler)
	if !failed {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.SetTop(0)
	L.Push(lua.LFalse)
	L.Push(value)
	return 2
}

// handle lets an xpcall's handler replace an error. An error in the handler
// replaces both.
func (in *interp) handle(L *lua.LState, handler *lua.LFunction, value lua.LValue) (result lua.LValue) {
	in.handlers = append(in.handlers, errorHandler{L, nil})
	n := len(in.handlers)
	in.catchers++
	defer func() {
		in.handlers = in.handlers[:n-1]
		in.catchers--
		if r := recover(); r != nil {
			in.verbatim = false
			if _, ok := r.(*lua.ApiError); !ok {
				in.suspect = true
			}
			result = lua.LString("error in error handling")
		}
	}()
	L.Push(handler)
	L.Push(value)
	in.call(L, 1)
	return L.Get(-1)
}
