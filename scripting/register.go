package scripting

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

// registerFunction is redis.register_function. It takes a name and a callback,
// or a table of named arguments.
func registerFunction(L *lua.Thread) int {
	lib := hostOf(L).loading
	if lib == nil { // the library kept the function and called it later
		throwErrorTable(L, errRegisterLate)
	}
	f := &libraryFunction{script: &script{flags: flags{declared: true}}}
	switch L.Top() {
	case 1:
		f.setNamed(L)
	case 2:
		v, callback := L.Get(1), L.Get(2)
		name := checkText(L, &v, errRegisterName)
		if !callback.IsFunction() {
			throwErrorTable(L, errRegisterCallback)
		}
		f.script.sha, f.callback = name, callback
	default:
		throwErrorTable(L, errRegisterCount)
	}
	if !isLibraryName(f.name()) {
		throwErrorTable(L, errName)
	}
	for _, other := range lib.functions {
		if other.name() == f.name() {
			throwErrorTable(L, errSameFunction)
		}
	}
	f.lib = lib
	lib.functions = append(lib.functions, f)
	return 0
}

// checkText returns a copy of a string or the text of a number, which v must be.
func checkText(L *lua.Thread, v *lua.Value, refusal string) string {
	text, ok := textOf(v)
	if !ok {
		throwErrorTable(L, refusal)
	}
	return text
}

// setNamed sets the arguments in a table.
func (f *libraryFunction) setNamed(L *lua.Thread) {
	v := L.Get(1)
	if !v.IsTable() {
		throwErrorTable(L, errRegisterSingle)
	}
	t := v.Table()
	named := false
	for key, value, _ := t.Next(lua.Nil); !key.IsNil(); key, value, _ = t.Next(key) {
		switch resp.CString(checkText(L, &key, errRegisterKey)) {
		case "function_name":
			f.script.sha, named = checkText(L, &value, errRegisterNameType), true
		case "description":
			f.description = lua.String(checkText(L, &value, errRegisterText))
		case "callback":
			if f.callback = value; !value.IsFunction() {
				throwErrorTable(L, errRegisterFunction)
			}
		case "flags":
			if !value.IsTable() {
				throwErrorTable(L, errRegisterFlags)
			}
			f.setFlags(L, value.Table())
		default:
			throwErrorTable(L, errRegisterUnknown)
		}
	}
	switch {
	case !named:
		throwErrorTable(L, errRegisterNoName)
	case f.callback.IsNil():
		throwErrorTable(L, errRegisterNoHandler)
	}
}

func (f *libraryFunction) setFlags(L *lua.Thread, list *lua.Table) {
	for i := 1; ; i++ {
		value := list.GetInt(i)
		if value.IsNil() {
			return
		}
		name := checkText(L, &value, errRegisterFlag)
		if !f.script.flags.add(name) {
			throwErrorTable(L, errRegisterFlag)
		}
		f.flagNames = append(f.flagNames, name)
	}
}
