package scripting

import (
	"errors"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// protect calls the function at stack index 1 with the arguments above it and
// catches errors. It leaves the results on the stack.
//
// The function runs in a thread of its own: on an error gopher-lua detaches all
// locals of a thread from the closures that share them, including those of
// functions that continue.
func (in *interp) protect(L *lua.LState, handler *lua.LFunction) (value lua.LValue, failed bool) {
	nargs := L.GetTop()
	in.grow(L, valueSize*nargs)
	goCalls, threadGoCalls, pcallDepth := in.goCalls, in.threadGoCalls, in.pcallDepth
	handlers, scratch := len(in.handlers), in.meter.scratchBytes
	thread := in.acquireThread()
	in.pcallCallers[thread] = L
	in.handlers = append(in.handlers, errorHandler{thread, handler})
	in.pcallDepth++
	thread.Push(in.trampoline)
	for i := 1; i <= nargs; i++ {
		thread.Push(L.Get(i))
	}
	L.SetTop(0)
	err := thread.PCall(nargs, lua.MultRet, nil)
	in.goCalls, in.threadGoCalls, in.pcallDepth = goCalls, threadGoCalls, pcallDepth
	in.handlers = in.handlers[:handlers]
	in.meter.scratchBytes = scratch
	delete(in.pcallCallers, thread)
	if in.meter.stopRequested() {
		in.check(L, in.meter.poll()) // this error cannot be caught
	}
	if err == nil {
		for i := 1; i <= thread.GetTop(); i++ {
			L.Push(thread.Get(i))
		}
		thread.SetTop(0)
		in.spareThreads = append(in.spareThreads, thread)
		return nil, false
	}
	in.verbatim = false
	if in.locks.violated {
		in.throw(L, lua.LString(errNotLocked)) // this error cannot be caught
	}
	var e *lua.ApiError
	if !errors.As(err, &e) || e.Type == lua.ApiErrorPanic {
		in.unusable = true
		return lua.LString(interpreterErrors), true
	}
	if !in.unusable {
		thread.SetTop(0)
		in.spareThreads = append(in.spareThreads, thread)
	}
	return e.Object, true
}

// acquireThread returns a thread for protect. The outermost has more frames:
// all threads together must not exhaust Go's stack.
func (in *interp) acquireThread() *lua.LState {
	frames := maxThreadFrames
	if in.pcallDepth == 0 {
		frames = maxFrames
	}
	for i := len(in.spareThreads) - 1; i >= 0; i-- {
		if thread := in.spareThreads[i]; thread.Options.CallStackSize == frames {
			in.spareThreads = slices.Delete(in.spareThreads, i, i+1)
			return thread
		}
	}
	in.L.Options.CallStackSize = frames
	ctx := in.L.RemoveContext() // the thread would derive a context of its own
	thread, _ := in.L.NewThread()
	in.L.SetContext(ctx)
	in.L.Options.CallStackSize = maxThreadFrames
	in.installCountHook(thread)
	return thread
}

// trimSpareThreads drops the threads that only deeply nested pcalls need.
func (in *interp) trimSpareThreads() {
	const most = 4
	if len(in.spareThreads) > most {
		// The outermost was returned last.
		in.spareThreads = slices.Delete(in.spareThreads, 0, len(in.spareThreads)-most)
	}
}

// scriptThread returns the coroutine or main thread in which pcall started L.
func (in *interp) scriptThread(L *lua.LState) *lua.LState {
	for in.pcallCallers[L] != nil {
		L = in.pcallCallers[L]
	}
	return L
}

// pcall returns the text of an error table instead of the table, as Redis does.
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

// runErrorHandler replaces an error by the result of xpcall's handler. An error
// in the handler replaces both.
func (in *interp) runErrorHandler(
	L *lua.LState, handler *lua.LFunction, value lua.LValue,
) (result lua.LValue) {
	in.handlers = append(in.handlers, errorHandler{L, nil})
	n := len(in.handlers)
	in.pcallDepth++
	defer func() {
		in.handlers = in.handlers[:n-1]
		in.pcallDepth--
		if r := recover(); r != nil {
			in.verbatim = false
			if _, ok := r.(*lua.ApiError); !ok {
				in.unusable = true
			}
			result = lua.LString("error in error handling")
		}
	}()
	L.Push(handler)
	L.Push(value)
	in.call(L, 1)
	return L.Get(-1)
}
