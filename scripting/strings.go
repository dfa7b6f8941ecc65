package scripting

import lua "github.com/yuin/gopher-lua"

// pushBytes and pushString are where struct and cmsgpack give a script a
// string of their making.
func (in *interp) pushBytes(L *lua.LState, b []byte) {
	in.steps(L, len(b)/bytesPerStep)
	L.Push(text(b))
}

func (in *interp) pushString(L *lua.LState, s string) { L.Push(lua.LString(s)) }

// checkStack raises an error where a library function of C Lua would have
// filled its stack.
func (in *interp) checkStack(L *lua.LState, size int, what string) {
	if size > maxCStack {
		in.fail(L, "stack overflow ("+what+")")
	}
}
