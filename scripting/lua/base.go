package lua

import (
	"strings"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// baseLibrary are the basic functions. Some need what others keep; see openBase.
var baseLibrary = []Entry{
	{"assert", baseAssert},
	{"collectgarbage", baseCollectGarbage},
	{"error", baseError},
	{"gcinfo", baseGCInfo},
	{"getmetatable", baseGetMetatable},
	{"load", baseLoad},
	{"loadstring", baseLoadString},
	{"next", baseNext},
	{"rawequal", baseRawEqual},
	{"rawget", baseRawGet},
	{"rawset", baseRawSet},
	{"select", baseSelect},
	{"setmetatable", baseSetMetatable},
	{"tonumber", baseToNumber},
	{"tostring", baseToString},
	{"type", baseType},
	{"unpack", baseUnpack},
	{"xpcall", baseXPCall},
}

func (s *State) openBase() {
	g := s.Globals
	s.Register(g, baseLibrary)
	g.SetString("pcall", FunctionValue(s.main.NewPCall(basePCall, caughtError)))
	step := s.main.NewFunction(baseIPairsStep)
	step.iterator = iteratesArray
	g.SetString("ipairs", FunctionValue(s.main.NewFunction(baseIPairs, FunctionValue(step))))
	next := s.main.NewFunction(baseNext) // not the same as the global, as in C Lua
	next.iterator = iteratesNext
	g.SetString("pairs", FunctionValue(s.main.NewFunction(basePairs, FunctionValue(next))))
	global := g.GetString("next")
	global.Function().iterator = iteratesNext
}

func baseAssert(L *Thread) int {
	if v := L.CheckAny(1); !v.Truthy() {
		L.Error(L.OptString(2, "assertion failed!"))
	}
	return L.Top()
}

func baseError(L *Thread) int {
	level := L.OptInt(2, 1)
	v := L.Get(1)
	if isText(&v) && level > 0 {
		where := L.Where(level)
		text, _ := L.AsString(v)
		v = Bytes(append(append(L.Alloc(len(where)+len(text)), where...), text...))
	}
	return L.Raise(v)
}

// baseCollectGarbage does nothing: Go manages the memory.
func baseCollectGarbage(L *Thread) int {
	switch option := L.OptString(1, "collect"); option {
	case "step":
		L.Push(True)
	case "collect", "stop", "restart", "count", "setpause", "setstepmul":
		L.PushNumber(0)
	default:
		L.ArgError(1, "invalid option '"+option+"'")
	}
	return 1
}

func baseGCInfo(L *Thread) int {
	return L.Return(Number(0))
}

func baseGetMetatable(L *Thread) int {
	v := L.CheckAny(1)
	meta := L.metatable(&v)
	if meta == nil {
		return L.Return(Nil)
	}
	if shown := meta.field(eventMetatable); shown.kind != KindNil {
		return L.Return(shown)
	}
	return L.Return(TableValue(meta))
}

func baseSetMetatable(L *Thread) int {
	t := L.CheckTable(1)
	v := L.Get(2)
	if L.Top() < 2 || v.kind != KindNil && v.kind != KindTable {
		L.ArgError(2, "nil or table expected")
	}
	if t.readOnly {
		L.Throw(String(errReadOnlyTable))
	}
	if shown := t.meta.field(eventMetatable); shown.kind != KindNil {
		L.Error("cannot change a protected metatable")
	}
	if v.kind == KindNil {
		t.SetMetatable(nil)
	} else {
		t.SetMetatable(v.Table())
	}
	L.SetTop(1)
	return 1
}

func basePairs(L *Thread) int {
	L.CheckTable(1)
	return L.Return(L.Captured(1), L.Get(1), Nil)
}

func baseNext(L *Thread) int {
	t := L.CheckTable(1)
	key := L.Get(2)
	L.stepText(&key, &key)
	next, value, ok := t.Next(key)
	if !ok {
		L.runtimeError("invalid key to 'next'")
	}
	if next.kind == KindNil {
		return L.Return(Nil)
	}
	return L.Return(next, value)
}

func baseIPairs(L *Thread) int {
	L.CheckTable(1)
	return L.Return(L.Captured(1), L.Get(1), Number(0))
}

func baseIPairsStep(L *Thread) int {
	t := L.CheckTable(1)
	i := L.CheckInt(2) + 1
	v := t.GetInt(i)
	if v.kind == KindNil {
		return 0
	}
	return L.Return(Number(float64(i)), v)
}

func baseRawEqual(L *Thread) int {
	a, b := L.CheckAny(1), L.CheckAny(2)
	return L.Return(Bool(a.Equals(&b)))
}

func baseRawGet(L *Thread) int {
	t := L.CheckTable(1)
	key := L.CheckAny(2)
	L.stepText(&key, &key)
	return L.Return(t.Get(key))
}

func baseRawSet(L *Thread) int {
	t := L.CheckTable(1)
	key, value := L.CheckAny(2), L.CheckAny(3)
	L.RawSet(t, key, value)
	L.SetTop(1)
	return 1
}

func baseSelect(L *Thread) int {
	top := L.Top()
	if v := L.Get(1); v.kind == KindString && strings.HasPrefix(v.Str(), "#") {
		return L.Return(Number(float64(top - 1)))
	}
	n := L.CheckInt(1)
	if n < 0 {
		n += top
	} else if n > top {
		n = top
	}
	if n < 1 {
		L.ArgError(1, "index out of range")
	}
	return top - n
}

func baseToNumber(L *Thread) int {
	if v := L.Get(1); v.kind == KindNumber && L.Top() == 1 {
		return L.Return(v)
	}
	base := L.OptInt(2, 10)
	var f float64
	var ok bool
	if base == 10 {
		v := L.CheckAny(1)
		f, ok = v.AsNumber()
	} else {
		s := L.CheckString(1)
		if base < 2 || base > 36 {
			L.ArgError(2, "base out of range")
		}
		f, ok = syntax.ParseBase(s, base)
	}
	if !ok {
		return L.Return(Nil)
	}
	return L.Return(Number(f))
}

func baseToString(L *Thread) int {
	return L.Return(L.ToString(L.CheckAny(1)))
}

// typeNames are the names of kinds as values.
var typeNames = func() (names [len(kindNames)]Value) {
	for i, name := range kindNames {
		names[i] = String(name)
		names[i].stringHash()
	}
	return names
}()

func baseType(L *Thread) int {
	v := L.CheckAny(1)
	return L.Return(typeNames[v.kind])
}

func baseUnpack(L *Thread) int {
	t := L.CheckTable(1)
	from := L.OptInt(2, 1)
	var to int
	if v := L.Get(3); v.kind == KindNil {
		to = t.Len()
	} else {
		to = L.CheckInt(3)
	}
	if from > to {
		return 0
	}
	n := to - from + 1
	if n+L.Top() > maxPushed {
		L.Error("too many results to unpack")
	}
	L.Step(n / valuesPerStep)
	for i := from; i <= to; i++ {
		L.Push(t.GetInt(i))
	}
	return n
}

func basePCall(L *Thread) int {
	L.CheckAny(1)
	return L.ProtectedCall(L.Top()-1, Nil, caughtError)
}

func baseXPCall(L *Thread) int {
	if L.Top() < 2 {
		L.ArgError(2, "value expected")
	}
	handler := L.Get(2)
	if handler.kind == KindNil {
		handler = False // PCall would take nil for none; this one fails as nil does
	}
	L.SetTop(1)
	return L.ProtectedCall(0, handler, caughtError)
}

func caughtError(L *Thread, v Value) int { return L.Return(False, v) }

func baseLoad(L *Thread) int {
	fn := FunctionValue(L.CheckFunction(1))
	name := L.OptString(2, "=(load)")
	var source []byte
	for {
		L.SetTop(2)
		L.Push(fn)
		if err := L.PCall(0, Nil); err != nil {
			return L.Return(Nil, err.Value)
		}
		v := L.Get(3)
		piece, ok := L.AsString(v)
		if !ok && v.kind != KindNil {
			return L.Return(Nil, String(L.Where(1)+"reader function must return a string"))
		}
		if piece == "" {
			break
		}
		source = append(L.GrowBuffer(source, len(piece)), piece...)
	}
	L.releaseBuffer(source)
	return loadChunk(L, string(source), name)
}

func baseLoadString(L *Thread) int {
	source := L.CheckString(1)
	return loadChunk(L, source, L.OptString(2, source))
}

func loadChunk(L *Thread, source, name string) int {
	L.Step(len(source))
	if fixed, perByte := 1<<10, 48; L.state.MaxTokens == 0 {
		L.Grow(fixed + perByte*len(source)) // what the compiler allocates
	}
	name, _, _ = strings.Cut(name, "\x00") // a C string
	fn, err := L.state.Load(source, name)
	if err != nil {
		return L.Return(Nil, String(err.Error()))
	}
	L.Grow(int(fn.proto.Size()))
	return L.Return(FunctionValue(fn))
}
