package scripting

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// What gopher-lua hides and bounding its memory needs: which instruction is to
// run, and what registers and tables hold. The views below are the beginnings
// of its own structs; TestViews compares them, so that another version of
// gopher-lua cannot come in unseen.

// A frameView is its callFrame.
type frameView struct {
	_  int // idx
	fn *lua.LFunction
	_  unsafe.Pointer // parent
	pc int            // of the instruction after the one that was fetched
}

// A registryView is its registry.
type registryView struct {
	array []lua.LValue
}

// A tableView is its LTable.
type tableView struct {
	metatable lua.LValue
	array     []lua.LValue
	dict      map[lua.LValue]lua.LValue
	strdict   map[string]lua.LValue
	keys      []lua.LValue // of dict and strdict, in the order in which they came
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

// registers are the values that a thread's functions work on, with what
// functions that returned left behind.
func registers(L *lua.LState) []lua.LValue {
	return (*(**registryView)(unsafe.Add(unsafe.Pointer(L), registryOffset))).array
}

func viewTable(t *lua.LTable) *tableView { return (*tableView)(unsafe.Pointer(t)) }
