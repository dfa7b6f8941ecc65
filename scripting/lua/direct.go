package lua

import (
	"math"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// directFunctions are the library functions that code calls most, by library
// and name.
var directFunctions = map[boundName]directFunction{
	{"tonumber", ""}: directToNumber,
	{"tostring", ""}: directToString,
	{"type", ""}:     directType,
	{"math", "floor"}: func(_ *Thread, v *Value) (Value, bool) {
		return Number(math.Floor(v.Num())), isOrdinary(v)
	},
	{"math", "ceil"}: func(_ *Thread, v *Value) (Value, bool) {
		return Number(math.Ceil(v.Num())), isOrdinary(v)
	},
	{"math", "abs"}: func(_ *Thread, v *Value) (Value, bool) {
		return Number(math.Abs(v.Num())), isOrdinary(v)
	},
	{"string", "len"}: func(_ *Thread, v *Value) (Value, bool) {
		return Number(float64(v.bits)), v.kind == KindString
	},
}

// singleFunctions are other library functions that always have one result.
var singleFunctions = []boundName{
	{"string", "char"},
	{"string", "format"},
	{"string", "lower"},
	{"string", "rep"},
	{"string", "sub"},
	{"string", "upper"},
	{"table", "concat"},
}

// setDirect gives the functions of the globals their shortcuts.
func (s *State) setDirect() {
	for _, name := range singleFunctions {
		library := s.Globals.GetString(name.global)
		v := library.Table().GetString(name.field)
		v.Function().host.single = true
	}
	for name, direct := range directFunctions {
		v := s.Globals.GetString(name.global)
		if name.field != "" {
			v = v.Table().GetString(name.field)
		}
		v.Function().host.direct = direct
	}
}

func directToNumber(L *Thread, v *Value) (Value, bool) {
	const short = 64
	switch {
	case v.kind == KindNumber:
		return *v, true
	case v.kind != KindString:
		return Nil, true
	case v.bits > short:
		return Nil, false
	}
	if n, ok := syntax.ParseDigits(v.Str()); ok {
		f := float64(n)
		L.state.remember(f, v)
		return Number(f), true
	}
	if f, ok := syntax.ParseNumber(v.Str()); ok {
		return Number(f), true
	}
	return Nil, true
}

func directToString(L *Thread, v *Value) (Value, bool) {
	switch v.kind {
	case KindString:
		return *v, L.state.stringMeta.field(eventToString).kind == KindNil
	case KindNumber:
		return L.NumberText(v.Num()), true
	}
	return Nil, false
}

func directType(_ *Thread, v *Value) (Value, bool) { return typeNames[v.kind], true }

// isOrdinary reports whether v is a number and no NaN.
func isOrdinary(v *Value) bool { return v.kind == KindNumber && v.Num() == v.Num() }
