package scripting

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/resp"
)

// registerFunction is redis.register_function. It takes a name and a callback,
// or a table of named arguments.
func (in *interp) registerFunction(L *lua.LState) int {
	lib := in.loading
	if lib == nil { // the library kept the function and called it later
		in.throwErrorTable(L, errRegisterLate)
	}
	var f *libraryFunction
	switch L.GetTop() {
	case 1:
		f = in.namedRegistration(L)
	case 2:
		name, ok := asString(L.Get(1))
		if !ok {
			in.throwErrorTable(L, errRegisterName)
		}
		callback, ok := L.Get(2).(*lua.LFunction)
		if !ok {
			in.throwErrorTable(L, errRegisterCallback)
		}
		f = &libraryFunction{script: &script{sha: name}, callback: callback}
	default:
		in.throwErrorTable(L, errRegisterCount)
	}
	if !isLibraryName(f.name()) {
		in.throwErrorTable(L, errName)
	}
	for _, other := range lib.functions {
		if other.name() == f.name() {
			in.throwErrorTable(L, errSameFunction)
		}
	}
	f.lib = lib
	lib.functions = append(lib.functions, f)
	return 0
}

func (in *interp) namedRegistration(L *lua.LState) *libraryFunction {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		in.throwErrorTable(L, errRegisterSingle)
	}
	f := &libraryFunction{}
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		name, ok := asString(key)
		if !ok {
			in.throwErrorTable(L, errRegisterKey)
		}
		switch resp.CString(name) {
		case "function_name":
			text, ok := asString(value)
			if !ok {
				in.throwErrorTable(L, errRegisterNameType)
			}
			f.script = &script{sha: text}
		case "description":
			text, ok := asString(value)
			if !ok {
				in.throwErrorTable(L, errRegisterText)
			}
			f.description = lua.LString(text)
		case "callback":
			if f.callback, ok = value.(*lua.LFunction); !ok {
				in.throwErrorTable(L, errRegisterFunction)
			}
		case "flags":
			list, ok := value.(*lua.LTable)
			if !ok {
				in.throwErrorTable(L, errRegisterFlags)
			}
			in.registerFlags(L, f, list)
		default:
			in.throwErrorTable(L, errRegisterUnknown)
		}
	}
	switch {
	case f.script == nil:
		in.throwErrorTable(L, errRegisterNoName)
	case f.callback == nil:
		in.throwErrorTable(L, errRegisterNoHandler)
	}
	return f
}

func (in *interp) registerFlags(L *lua.LState, f *libraryFunction, list *lua.LTable) {
	for i := 1; ; i++ {
		value := rawGetInt(list, i)
		if value == lua.LNil {
			return
		}
		name, ok := asString(value)
		if !ok || !knownFlags[name] {
			in.throwErrorTable(L, errRegisterFlag)
		}
		f.flags = append(f.flags, name)
		f.noWrites = f.noWrites || name == "no-writes"
		f.allowOOM = f.allowOOM || name == "allow-oom"
		f.allowStale = f.allowStale || name == "allow-stale"
	}
}
