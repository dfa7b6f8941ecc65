package scripting

import lua "github.com/yuin/gopher-lua"

// pushBytes and pushString push a string built by struct or cmsgpack.
func (in *interp) pushBytes(L *lua.LState, b []byte) {
	in.steps(L, len(b)/bytesPerStep)
	L.Push(text(b))
}

func (in *interp) pushString(L *lua.LState, s string) { L.Push(lua.LString(s)) }

// checkStack raises an error if the library function would have filled its
// stack in C Lua.
func (in *interp) checkStack(L *lua.LState, size int, what string) {
	if size > maxCStack {
		in.fail(L, "stack overflow ("+what+")")
	}
}
