package scripting

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// asNumber converts a number, or a string that spells one, as Lua's arithmetic
// does.
func asNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// asString converts a string or a number as Lua's string functions do.
func asString(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return formatNumber(float64(v)), true
	}
	return "", false
}

// argError raises Lua's error about the nth argument of the running library
// function, with the name by which it was called.
func (in *interp) argError(L *lua.LState, n int, msg string) {
	text := "bad argument #" + strconv.Itoa(n) + " to '?' (" + msg + ")"
	if f, ok := in.stackAt(L, 1); ok && f.fn != nil && !f.fn.IsG && f.pc >= 0 {
		text = badArgument(f.fn.Proto, f.pc, n, msg)
	}
	in.fail(L, text)
}

// badArgument returns the error text about the nth argument of the function
// called by the instruction at pc.
func badArgument(p *lua.FunctionProto, pc, n int, msg string) string {
	name := "?"
	inst := p.Code[pc]
	switch opCode(inst) {
	case lua.OP_CALL, lua.OP_TAILCALL:
		nameKind, called := variable(p, pc, opA(inst))
		if nameKind != "" {
			name = called
		}
		if nameKind == "method" {
			if n--; n == 0 {
				return "calling '" + name + "' on bad self (" + msg + ")"
			}
		}
	}
	return "bad argument #" + strconv.Itoa(n) + " to '" + name + "' (" + msg + ")"
}

func (in *interp) wrongType(L *lua.LState, n int, expected string) {
	got := "no value"
	if n <= L.GetTop() {
		got = typeName(L.Get(n))
	}
	in.argError(L, n, expected+" expected, got "+got)
}

func (in *interp) checkAny(L *lua.LState, n int) lua.LValue {
	if n > L.GetTop() {
		in.argError(L, n, "value expected")
	}
	return L.Get(n)
}

func (in *interp) checkNumber(L *lua.LState, n int) float64 {
	f, ok := asNumber(L.Get(n))
	if !ok {
		in.wrongType(L, n, "number")
	}
	return f
}

func (in *interp) checkInt(L *lua.LState, n int) int { return toInt(in.checkNumber(L, n)) }

func (in *interp) optInt(L *lua.LState, n, otherwise int) int {
	if L.Get(n) == lua.LNil {
		return otherwise
	}
	return in.checkInt(L, n)
}

func (in *interp) checkString(L *lua.LState, n int) string {
	s, ok := asString(L.Get(n))
	if !ok {
		in.wrongType(L, n, "string")
	}
	return s
}

func (in *interp) optString(L *lua.LState, n int, otherwise string) string {
	if L.Get(n) == lua.LNil {
		return otherwise
	}
	return in.checkString(L, n)
}

// checkTable returns the first argument, the only one that is ever a table.
func (in *interp) checkTable(L *lua.LState) *lua.LTable {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		in.wrongType(L, 1, "table")
	}
	return t
}

// readable returns the first argument for functions that bypass metatables: the
// content, if the table is sealed.
func (in *interp) readable(L *lua.LState) *lua.LTable {
	return in.content(in.checkTable(L))
}

func (in *interp) content(t *lua.LTable) *lua.LTable {
	if content := in.sealed[t]; content != nil {
		return content
	}
	return t
}

// writable returns the first argument, and raises an error if it is sealed.
func (in *interp) writable(L *lua.LState) *lua.LTable {
	t := in.checkTable(L)
	if in.sealed[t] != nil {
		in.throw(L, lua.LString(errReadOnlyTable))
	}
	return t
}

func (in *interp) checkFunction(L *lua.LState, n int) *lua.LFunction {
	fn, ok := L.Get(n).(*lua.LFunction)
	if !ok {
		in.wrongType(L, n, "function")
	}
	return fn
}

// index reads a field as lua_getfield does, with metamethods.
func (in *interp) index(L *lua.LState, t *lua.LTable, key string) lua.LValue {
	if v := t.RawGetString(key); v != lua.LNil || t.Metatable == lua.LNil {
		return v
	}
	return L.GetField(t, key)
}
