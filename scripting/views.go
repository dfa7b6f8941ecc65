package scripting

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// Limiting memory needs fields that gopher-lua hides: the next instruction, and
// the content of registers and tables. The views are prefixes of its structs,
// which TestViews compares.

type frameView struct {
	_  int // idx
	fn *lua.LFunction
	_  unsafe.Pointer // parent
	pc int            // of the instruction after the one that was fetched
}

type registryView struct {
	array []lua.LValue
}

type tableView struct {
	metatable lua.LValue
	array     []lua.LValue
	dict      map[lua.LValue]lua.LValue
	strdict   map[string]lua.LValue
	keys      []lua.LValue // of dict and strdict, in order of insertion
}

var (
	frameOffset    = offsetOf("currentFrame")
	registryOffset = offsetOf("reg")
)

func offsetOf(field string) uintptr {
	f, ok := reflect.TypeFor[lua.LState]().FieldByName(field)
	if !ok {
		panic("scripting: gopher-lua's LState has no " + field)
	}
	return f.Offset
}

func viewFrame(L *lua.LState) *frameView {
	return *(**frameView)(unsafe.Add(unsafe.Pointer(L), frameOffset))
}

// registers returns the registers of a thread's functions, with values left by
// functions that have returned.
func registers(L *lua.LState) []lua.LValue {
	return (*(**registryView)(unsafe.Add(unsafe.Pointer(L), registryOffset))).array
}

func viewTable(t *lua.LTable) *tableView { return (*tableView)(unsafe.Pointer(t)) }
