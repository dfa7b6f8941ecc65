package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// The operators in which the virtual machine differs from Lua 5.1.

func (in *interp) concat(L *lua.LState) int {
	n := L.GetTop()
	size := 0
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += 24
		default:
			return in.concatSlowly(L, n)
		}
	}
	var buf [128]byte
	b := buf[:0]
	if size > len(buf) {
		in.grow(L, size)
		b = make([]byte, 0, size)
	}
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			b = append(b, v...)
		case lua.LNumber:
			b = appendNumber(b, float64(v))
		}
	}
	L.Push(lua.LString(b))
	return 1
}

// concatSlowly joins two operands at a time, so that metamethods get the
// operands that Lua passes them.
func (in *interp) concatSlowly(L *lua.LState, n int) int {
	right := L.Get(n)
	for i := n - 1; i > 0; i-- {
		left := L.Get(i)
		a, okA := asString(left)
		b, okB := asString(right)
		if okA && okB {
			in.grow(L, len(a)+len(b))
			right = lua.LString(a + b)
			continue
		}
		meta := L.GetMetaField(left, "__concat")
		if meta == lua.LNil {
			meta = L.GetMetaField(right, "__concat")
		}
		if meta == lua.LNil {
			at := i
			bad := left
			if okA {
				at, bad = i+1, right
			}
			in.concatError(L, at, bad)
		}
		L.Push(meta)
		L.Push(left)
		L.Push(right)
		in.call(L, 2)
		right = L.Get(-1)
		L.Pop(1)
	}
	L.Push(right)
	return 1
}

// concatError raises the error about the nth operand, which is the caller's nth
// argument.
func (in *interp) concatError(L *lua.LState, n int, v lua.LValue) {
	in.fail(L, "attempt to concatenate "+in.describeArgument(L, n, v))
}

func (in *interp) describeArgument(L *lua.LState, n int, v lua.LValue) string {
	if f, ok := in.stackAt(L, 1); ok && f.fn != nil && !f.fn.IsG && f.pc >= 0 {
		return describeArgument(f.fn.Proto, f.pc, n, typeName(v))
	}
	return "a " + typeName(v) + " value"
}

// describeArgument names the nth argument of the hidden function called by the
// instruction at pc.
func describeArgument(p *lua.FunctionProto, pc, n int, kind string) string {
	return describe(p, pc, opA(p.Code[pc])+n, kind)
}

// mod is the operator %. Lua 5.1 computes it with a division, whose rounding is
// visible for operands that are not integers; gopher-lua uses C's fmod.
func (in *interp) mod(L *lua.LState) int {
	x, y := L.Get(1), L.Get(2)
	a, okA := asNumber(x)
	b, okB := asNumber(y)
	if okA && okB {
		L.Push(lua.LNumber(modulo(a, b)))
		return 1
	}
	meta := in.metamethod(L, x, "__mod")
	if meta == lua.LNil {
		meta = in.metamethod(L, y, "__mod")
	}
	if meta == lua.LNil {
		n, bad := 1, x
		if okA {
			n, bad = 2, y
		}
		in.fail(L, "attempt to perform arithmetic on "+in.describeArgument(L, n, bad))
	}
	L.Insert(meta, 1)
	in.call(L, 2)
	return 1
}

// metamethod is GetMetaField, except that strings have no metamethods.
func (in *interp) metamethod(L *lua.LState, v lua.LValue, event string) lua.LValue {
	if v.Type() == lua.LTString {
		return lua.LNil
	}
	return L.GetMetaField(v, event)
}

// length is the operator #, which ignores __len.
func (in *interp) length(L *lua.LState) int {
	switch v := L.Get(1).(type) {
	case lua.LString:
		L.Push(lua.LNumber(len(v)))
	case *lua.LTable:
		L.Push(lua.LNumber(border(v)))
	default:
		in.fail(L, "attempt to get length of "+in.describeArgument(L, 1, v))
	}
	return 1
}

func (in *interp) forOperand(L *lua.LState, what string) int {
	f, ok := asNumber(L.Get(1))
	if !ok {
		in.fail(L, "'for' "+what+" must be a number")
	}
	L.Push(lua.LNumber(f))
	return 1
}

var stringArithmetic = map[string]func(a, b float64) float64{
	"__add": func(a, b float64) float64 { return a + b },
	"__sub": func(a, b float64) float64 { return a - b },
	"__mul": func(a, b float64) float64 { return a * b },
	"__div": func(a, b float64) float64 { return a / b },
	"__pow": math.Pow,
	"__mod": modulo,
	"__unm": func(a, _ float64) float64 { return -a },
}

// modulo rounds after each step. The conversion keeps the compiler from fusing
// the last two.
func modulo(a, b float64) float64 {
	return a - float64(math.Floor(a/b)*b)
}

// arithmetic is called if an operand is a string. The other operand may have a
// metamethod, which gopher-lua has not tried.
func (in *interp) arithmetic(L *lua.LState, event string) int {
	op := stringArithmetic[event]
	unary := event == "__unm"
	a, okA := asNumber(L.Get(1))
	b, okB := asNumber(L.Get(2))
	if okA && (okB || unary) {
		L.Push(lua.LNumber(op(a, b)))
		return 1
	}
	for i := 1; i <= 2; i++ {
		if v := L.Get(i); v.Type() != lua.LTString {
			if meta := L.GetMetaField(v, event); meta != lua.LNil {
				L.Insert(meta, 1)
				in.call(L, 2)
				return 1
			}
		}
	}
	f, ok := in.stackAt(L, 1)
	if !ok || f.fn == nil || f.fn.IsG || f.pc < 0 {
		in.fail(L, "attempt to perform arithmetic on a string value")
	}
	inst := f.fn.Proto.Code[f.pc]
	if unary {
		in.fail(L, in.typeError(L, &f, opB(inst), "perform arithmetic on"))
	}
	in.fail(L, in.arithError(L, &f, opB(inst), opC(inst)))
	return 0
}
