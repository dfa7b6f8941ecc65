package scripting

import (
	lua "github.com/yuin/gopher-lua"
)

// protect calls the function at stack index 1 with the arguments above it and
// catches what it raises. The results, or the error alone, are left above
// index 0.
func (in *interp) protect(L *lua.LState, handler *lua.LFunction) (value lua.LValue, failed bool) {
	boundaries, inThread, catchers, handlers := in.boundaries, in.inThread, in.catchers, len(in.handlers)
	in.handlers = append(in.handlers, errorHandler{L, handler})
	in.catchers++
	nargs := L.GetTop()
	L.Insert(in.trampoline, 1)
	err := L.PCall(nargs, lua.MultRet, nil)
	in.boundaries, in.inThread, in.catchers = boundaries, inThread, catchers
	in.handlers = in.handlers[:handlers]
	if err == nil {
		return nil, false
	}
	in.verbatim = false
	e, ok := err.(*lua.ApiError)
	if !ok || e.Type == lua.ApiErrorPanic {
		in.suspect = true
		return lua.LString(interpreterErrors), true
	}
	return e.Object, true
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
	in.call(L, 1, 1)
	return L.Get(-1)
}
