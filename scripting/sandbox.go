package scripting

import (
	"maps"
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/resp"
)

const (
	errReadOnlyTable = "Attempt to modify a readonly table"
	redisVersion     = "7.0.15"
	redisVersionNum  = 7<<16 | 0<<8 | 15
)

var redisNumbers = map[string]int{
	"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
	"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
	"REDIS_VERSION_NUM": redisVersionNum,
}

// buildSandbox creates everything that a script can reach. env is the globals
// of functions, and scripts cannot get hold of it. The tables that they can get
// hold of (_G and the libraries) are sealed: empty, with a metatable that shows
// the content and rejects writes. Functions that bypass metatables look into
// in.sealed.
func (in *interp) buildSandbox() {
	L := in.L
	in.env = L.CreateTable(0, 256)
	in.public = L.CreateTable(0, 64)
	L.Env, L.G.Global = in.env, in.env
	in.trampoline = L.NewFunction(in.callWithHook)

	libs := map[string]map[string]lua.LGFunction{
		"redis": in.redisLibrary(), "string": in.stringLibrary(), "table": in.tableLibrary(),
		"math": in.mathLibrary(), "coroutine": in.coroutineLibrary(),
		"bit": in.bitLibrary(), "cjson": jsonLibrary{in, &in.json}.functions(),
		"struct": in.structLibrary(), "cmsgpack": in.cmsgpackLibrary(),
	}
	refuse := L.NewFunction(func(L *lua.LState) int {
		in.fail(L, errReadOnlyTable)
		return 0
	})
	// The order makes pairs show the same in every state.
	for _, lib := range slices.Sorted(maps.Keys(libs)) {
		functions := libs[lib]
		content := L.CreateTable(0, len(functions))
		for _, name := range libraries[lib] {
			fn := L.NewFunction(functions[name])
			content.RawSetString(name, fn)
			in.env.RawSetString(lib+"."+name, fn)
			if lib == "redis" {
				in.env.RawSetString("server."+name, fn)
			}
		}
		in.constants(lib, content)
		t := in.seal(content, content, refuse)
		in.define(lib, t)
		switch lib {
		case "redis":
			in.define("server", t)
		case "string":
			in.stringMetatable(content, refuse)
		}
	}
	base := in.baseLibrary()
	for _, name := range slices.Sorted(maps.Keys(base)) {
		in.define(name, L.NewFunction(base[name]))
	}
	in.next = in.env.RawGetString("next").(*lua.LFunction)
	in.ipairsStep = L.NewFunction(in.ipairsAux)
	in.notCallable = L.NewFunction(func(L *lua.LState) int {
		in.throw(L, lua.LString("attempt to call a non-function"))
		return 0
	})
	in.define("_VERSION", lua.LString("Lua 5.1"))
	in.sealGlobals(refuse)
	in.defineHidden()
	in.openCoroutines()
}

func (in *interp) define(name string, v lua.LValue) {
	in.env.RawSetString(name, v)
	in.public.RawSetString(name, v)
}

func (in *interp) constants(lib string, content *lua.LTable) {
	switch lib {
	case "math":
		content.RawSetString("pi", lua.LNumber(math.Pi))
		content.RawSetString("huge", lua.LNumber(math.Inf(1)))
	case "cjson":
		if in.jsonNull == nil {
			in.jsonNull = in.L.NewUserData()
		}
		content.RawSetString("null", in.jsonNull)
		content.RawSetString("_NAME", lua.LString("cjson"))
		content.RawSetString("_VERSION", lua.LString("2.1.0"))
	case "cmsgpack":
		content.RawSetString("_NAME", lua.LString("cmsgpack"))
		content.RawSetString("_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
		content.RawSetString("_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
	case "redis":
		for _, name := range slices.Sorted(maps.Keys(redisNumbers)) {
			content.RawSetString(name, lua.LNumber(redisNumbers[name]))
		}
		content.RawSetString("REDIS_VERSION", lua.LString(redisVersion))
	}
}

// seal returns a read-only table that shows content. index becomes the __index
// of its metatable.
func (in *interp) seal(content *lua.LTable, index lua.LValue, refuse *lua.LFunction) *lua.LTable {
	t := in.L.CreateTable(0, 0)
	mt := in.L.CreateTable(0, 2)
	mt.RawSetString("__index", index)
	mt.RawSetString("__newindex", refuse)
	t.Metatable = mt
	in.sealed[t] = content
	return t
}

func (in *interp) sealGlobals(refuse *lua.LFunction) {
	L := in.L
	missing := L.NewFunction(func(L *lua.LState) int {
		name := in.toString(L, L.Get(2))
		in.grow(L, len(name))
		if lib, field, ok := splitBoundName(name); ok { // bound by the parser
			if name = lib; lib == "redis" || lib == "server" {
				name = field
			}
		}
		in.fail(L, "Script attempted to access nonexistent global variable '"+resp.CString(name)+"'")
		return 0
	})
	mt := L.CreateTable(0, 1)
	mt.RawSetString("__index", missing)
	in.env.Metatable = mt

	index := L.NewFunction(func(L *lua.LState) int {
		v := in.public.RawGet(L.Get(2))
		if name, ok := L.Get(2).(lua.LString); ok && (name == "KEYS" || name == "ARGV") {
			v = in.env.RawGetString(string(name))
		}
		if v == lua.LNil {
			in.nonexistent(L, L.Get(2))
		}
		L.Push(v)
		return 1
	})
	g := in.seal(in.public, index, refuse)
	in.define("_G", g)
	in.env.RawSetString(hiddenGlobals, g)
}

// nonexistent raises the error for a missing field of one of Redis' tables.
func (in *interp) nonexistent(L *lua.LState, key lua.LValue) {
	name, ok := asString(key)
	if !ok {
		in.fail(L, "Second argument to luaProtectedTableError must be a string or number")
	}
	in.fail(L, "Script attempted to access nonexistent global variable '"+resp.CString(name)+"'")
}

// stringMetatable gives strings their methods and, for gopher-lua, Lua's
// arithmetic on strings. Scripts see a facade that has only __index.
func (in *interp) stringMetatable(content *lua.LTable, refuse *lua.LFunction) {
	L := in.L
	mt := L.CreateTable(0, 8)
	mt.RawSetString("__index", content)
	for event := range stringArithmetic {
		mt.RawSetString(event, L.NewFunction(func(L *lua.LState) int { return in.arithmetic(L, event) }))
	}
	L.SetMetatable(lua.LString(""), mt)
	facade := L.CreateTable(0, 1)
	facade.RawSetString("__index", in.env.RawGetString("string"))
	in.stringMeta = in.seal(facade, facade, refuse)
}

func (in *interp) defineHidden() {
	for name, fn := range map[string]lua.LGFunction{
		hiddenConcat:   in.concat,
		hiddenNone:     func(*lua.LState) int { return 0 },
		hiddenMod:      in.mod,
		hiddenLen:      in.length,
		hiddenForInit:  func(L *lua.LState) int { return in.forOperand(L, "initial value") },
		hiddenForLimit: func(L *lua.LState) int { return in.forOperand(L, "limit") },
		hiddenForStep:  func(L *lua.LState) int { return in.forOperand(L, "step") },
	} {
		in.env.RawSetString(name, in.L.NewFunction(fn))
	}
}
