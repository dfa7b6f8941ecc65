// Package redislib has the Lua libraries that Redis adds to the standard one, in the versions and with the
// limits of Redis 7.0: bit, cjson, cmsgpack and struct.
//
// It does not know the server: the table redis is added by package scripting.
//
// This package is internal to zlimit: it may change in any release.
package redislib

import "github.com/zlimit/zlimit/scripting/lua"

// Libraries are the libraries of one lua.State.
type Libraries struct {
	json jsonSettings
	null lua.Value // cjson.null, a null pointer in C
}

// Open defines the libraries in the globals of a state.
func Open(s *lua.State) *Libraries {
	l := &Libraries{json: defaultJSON, null: lua.UserdataValue(nil)}
	for _, lib := range []struct {
		name string
		open func(s *lua.State) *lua.Table
	}{{"cjson", l.openJSON}, {"struct", openStruct}, {"cmsgpack", openMsgpack}, {"bit", openBit}} {
		s.Globals.SetString(lib.name, lua.TableValue(lib.open(s)))
	}
	return l
}

// Reset gives the libraries the settings with which every script starts.
func (l *Libraries) Reset() { l.json = defaultJSON }

// newLibrary returns a table of functions.
func newLibrary(s *lua.State, entries []lua.Entry) *lua.Table {
	t := lua.NewTable(0, len(entries)+3)
	s.Register(t, entries)
	return t
}

// maxCStack is the number of values that a function in C may push.
const maxCStack = 8000

// checkStack raises an error if a library function would have filled its stack in C Lua.
func checkStack(L *lua.Thread, size int, what string) {
	if size > maxCStack {
		L.Error("stack overflow (" + what + ")")
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
