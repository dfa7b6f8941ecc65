package redislib

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

// Protect turns a state's globals into Redis' sandbox, once everything is defined: a missing global is an
// error, scripts cannot write to the globals and the library tables, and pcall returns the text of an error
// reply.
func Protect(s *lua.State) {
	g := s.Globals
	g.SetString("pcall", lua.FunctionValue(s.Main().NewPCall(pcall, caughtError)))
	meta := lua.NewTable(0, 1)
	meta.SetString("__index", lua.FunctionValue(s.Main().NewFunction(MissingGlobal)))
	g.SetMetatable(meta)
	meta.SetReadOnly(true)
	s.StringMetatable().SetReadOnly(true)
	for key, value, _ := g.Next(lua.Nil); !key.IsNil(); key, value, _ = g.Next(key) {
		if value.IsTable() {
			value.Table().SetReadOnly(true)
		}
	}
}

// MissingGlobal is the __index of Redis' tables: it raises the error for a field that they do not have.
func MissingGlobal(L *lua.Thread) int {
	name, ok := L.AsString(L.Get(2))
	if !ok {
		L.Error("Second argument to luaProtectedTableError must be a string or number")
	}
	L.Error("Script attempted to access nonexistent global variable '" + resp.CString(name) + "'")
	return 0
}

func pcall(L *lua.Thread) int {
	if L.Top() == 0 {
		return L.Return(lua.False, lua.String("attempt to call a nil value"))
	}
	return L.ProtectedCall(L.Top()-1, lua.Nil, caughtError)
}

// caughtError returns the text of an error table instead of the table.
func caughtError(L *lua.Thread, value lua.Value) int {
	L.Push(lua.False)
	if value.IsTable() {
		text := L.Index(value, lua.String("err"))
		if text.IsString() || text.IsNumber() {
			L.Push(text)
			return 2
		}
		L.Push(value)
		L.Push(text)
		return 3
	}
	L.Push(value)
	return 2
}
