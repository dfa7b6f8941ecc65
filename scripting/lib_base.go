package scripting

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (in *interp) baseLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"assert": in.assert, "collectgarbage": in.collectGarbage, "error": in.error, "gcinfo": in.gcInfo,
		"getmetatable": in.getMetatable, "ipairs": in.ipairs, "load": in.load, "loadstring": in.loadString,
		"next": in.nextPair, "pairs": in.pairs, "pcall": in.pcall, "rawequal": in.rawEqual,
		"rawget": in.rawGet, "rawset": in.rawSet, "select": in.selectArgs, "setmetatable": in.setMetatable,
		"tonumber": in.toNumber, "tostring": in.toStringFunction, "type": in.typeFunction,
		"unpack": in.unpack, "xpcall": in.xpcall,
	}
}

func (in *interp) assert(L *lua.LState) int {
	if !lua.LVAsBool(in.checkAny(L, 1)) {
		in.fail(L, in.optString(L, 2, "assertion failed!"))
	}
	return L.GetTop()
}

func (in *interp) error(L *lua.LState) int {
	level := in.optInt(L, 2, 1)
	value := L.Get(1)
	if s, ok := asString(value); ok && level > 0 {
		in.grow(L, len(s))
		value = lua.LString(in.where(L, level) + s)
	}
	in.throw(L, value)
	return 0
}

// collectGarbage does nothing: Go manages the memory.
func (in *interp) collectGarbage(L *lua.LState) int {
	switch option := in.optString(L, 1, "collect"); option {
	case "step":
		L.Push(lua.LTrue)
	case "collect", "stop", "restart", "count", "setpause", "setstepmul":
		L.Push(lua.LNumber(0))
	default:
		in.argError(L, 1, "invalid option '"+option+"'")
	}
	return 1
}

func (in *interp) gcInfo(L *lua.LState) int {
	L.Push(lua.LNumber(0))
	return 1
}

func (in *interp) getMetatable(L *lua.LState) int {
	v := in.checkAny(L, 1)
	switch v := v.(type) {
	case lua.LString:
		L.Push(in.stringMeta)
		return 1
	case *lua.LTable:
		if in.sealed[v] != nil {
			if v != in.env.RawGetString(hiddenGlobals) {
				L.Push(lua.LNil)
				return 1
			}
			L.Push(in.stringMeta) // it also shows __index only
			return 1
		}
	}
	L.Push(L.GetMetatable(v))
	return 1
}

func (in *interp) setMetatable(L *lua.LState) int {
	t := in.checkTable(L)
	mt := L.Get(2)
	if L.GetTop() < 2 || mt.Type() != lua.LTNil && mt.Type() != lua.LTTable {
		in.argError(L, 2, "nil or table expected")
	}
	if in.sealed[t] != nil {
		in.throw(L, lua.LString(errReadOnlyTable))
	}
	if old, ok := t.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		in.fail(L, "cannot change a protected metatable")
	}
	t.Metatable = mt
	L.SetTop(1)
	return 1
}

func (in *interp) pairs(L *lua.LState) int {
	t := in.checkTable(L)
	L.Push(in.next)
	L.Push(t)
	L.Push(lua.LNil)
	return 3
}

func (in *interp) nextPair(L *lua.LState) int {
	t := in.readable(L)
	in.steps(L, len(viewTable(t).keys)>>12) // Next may skip that many removed keys
	key, value := t.Next(L.Get(2))
	L.Push(key)
	if key == lua.LNil {
		return 1
	}
	L.Push(value)
	return 2
}

func (in *interp) ipairs(L *lua.LState) int {
	t := in.checkTable(L)
	L.Push(in.ipairsStep)
	L.Push(t)
	L.Push(lua.LNumber(0))
	return 3
}

func (in *interp) ipairsAux(L *lua.LState) int {
	t := in.readable(L)
	i := in.checkInt(L, 2) + 1
	v := t.RawGet(lua.LNumber(i))
	if v == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(i))
	L.Push(v)
	return 2
}

func (in *interp) rawEqual(L *lua.LState) int {
	a, b := in.checkAny(L, 1), in.checkAny(L, 2)
	L.Push(lua.LBool(a == b))
	return 1
}

func (in *interp) rawGet(L *lua.LState) int {
	t := in.readable(L)
	key := in.checkAny(L, 2)
	if name, ok := key.(lua.LString); ok && t == in.public && (name == "KEYS" || name == "ARGV") {
		t = in.env
	}
	L.Push(t.RawGet(key))
	return 1
}

func (in *interp) rawSet(L *lua.LState) int {
	in.checkTable(L)
	key, value := in.checkAny(L, 2), in.checkAny(L, 3)
	t := in.writable(L)
	if key == lua.LNil {
		in.throw(L, lua.LString("table index is nil"))
	}
	if n, ok := key.(lua.LNumber); ok {
		if n != n {
			in.throw(L, lua.LString("table index is NaN"))
		}
		if i := toInt(float64(n)); lua.LNumber(i) == n {
			in.reserveArray(L, t, i)
		}
	}
	t.RawSet(key, value)
	L.SetTop(1)
	return 1
}

func (in *interp) selectArgs(L *lua.LState) int {
	top := L.GetTop()
	if s, ok := L.Get(1).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		L.Push(lua.LNumber(top - 1))
		return 1
	}
	n := in.checkInt(L, 1)
	if n < 0 {
		n += top
	} else if n > top {
		n = top
	}
	if n < 1 {
		in.argError(L, 1, "index out of range")
	}
	return top - n
}

func (in *interp) toNumber(L *lua.LState) int {
	if v := L.Get(1); v.Type() == lua.LTNumber && L.GetTop() == 1 {
		L.Push(v)
		return 1
	}
	base := in.optInt(L, 2, 10)
	var f float64
	var ok bool
	if base == 10 {
		f, ok = asNumber(in.checkAny(L, 1))
	} else {
		s := in.checkString(L, 1)
		if base < 2 || base > 36 {
			in.argError(L, 2, "base out of range")
		}
		f, ok = parseBase(s, base)
	}
	if !ok {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(f))
	return 1
}

func (in *interp) toStringFunction(L *lua.LState) int {
	switch v := in.checkAny(L, 1).(type) {
	case lua.LString:
		L.Push(v)
	case lua.LNumber:
		if n := int(v); 0 <= n && n < len(smallDecimals) && lua.LNumber(n) == v && !math.Signbit(float64(v)) {
			L.Push(smallDecimals[n])
		} else {
			L.Push(lua.LString(formatNumber(float64(v))))
		}
	default:
		L.Push(lua.LString(in.toString(L, v)))
	}
	return 1
}

// smallDecimals are boxed once, because limiters often convert 0 and 1.
var smallDecimals = func() (texts [256]lua.LValue) {
	for i := range texts {
		texts[i] = lua.LString(strconv.Itoa(i))
	}
	return texts
}()

// toString converts any value, using __tostring.
func (in *interp) toString(L *lua.LState, v lua.LValue) string {
	if meta := L.GetMetaField(v, "__tostring"); meta != lua.LNil {
		L.Push(meta)
		L.Push(v)
		in.call(L, 1)
		s, ok := asString(L.Get(-1))
		L.Pop(1)
		if !ok {
			in.throw(L, lua.LString("'tostring' must return a string to 'tostring'"))
		}
		return s
	}
	switch v := v.(type) {
	case lua.LNumber:
		return formatNumber(float64(v))
	case *lua.LUserData: // cjson.null only, a null pointer in C
		return "userdata: (nil)"
	}
	return v.String()
}

func (in *interp) typeFunction(L *lua.LState) int {
	L.Push(typeNames[in.checkAny(L, 1).Type()])
	return 1
}

// typeNames are boxed once, because limiters call type often.
var typeNames = func() (names [lua.LTChannel + 1]lua.LValue) {
	for i := range names {
		names[i] = lua.LString(lua.LValueType(i).String())
	}
	return names
}()

func (in *interp) unpack(L *lua.LState) int {
	t := in.readable(L)
	from := in.optInt(L, 2, 1)
	to := border(t)
	if L.Get(3) != lua.LNil {
		to = in.checkInt(L, 3)
	}
	if from > to {
		return 0
	}
	n := to - from + 1
	if n+L.GetTop() > maxCStack {
		in.fail(L, "too many results to unpack")
	}
	for i := from; i <= to; i++ {
		L.Push(t.RawGet(lua.LNumber(i)))
	}
	return n
}

func (in *interp) load(L *lua.LState) int {
	fn := in.checkFunction(L, 1)
	name := in.optString(L, 2, "=(load)")
	var b strings.Builder
	scratch := in.meter.scratchBytes
	for {
		L.Push(fn)
		in.call(L, 0)
		piece, ok := asString(L.Get(-1))
		if !ok && L.Get(-1) != lua.LNil {
			L.Push(lua.LNil)
			L.Push(lua.LString("reader function must return a string"))
			return 2
		}
		L.Pop(1)
		if piece == "" {
			break
		}
		in.growScratch(L, 2*len(piece))
		b.WriteString(piece)
	}
	in.meter.scratchBytes = scratch
	return in.loadChunk(L, b.String(), name)
}

func (in *interp) loadString(L *lua.LState) int {
	source := in.checkString(L, 1)
	return in.loadChunk(L, source, in.optString(L, 2, source))
}

func (in *interp) loadChunk(L *lua.LState, source, name string) int {
	in.steps(L, len(source))
	proto, err := compile(source, name, in.engine.maxTokens())
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(fmt.Sprint(err)))
		return 2
	}
	L.Push(L.NewFunctionFromProto(proto))
	return 1
}
