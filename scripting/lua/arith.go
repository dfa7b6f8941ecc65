package lua

import (
	"fmt"
	"math"
)

// arith computes an arithmetic operation whose operands are not both numbers.
func (L *Thread) arith(e event, x, y *Value, from, fromY operand) Value {
	a, okA := x.AsNumber()
	if okA {
		if b, okB := y.AsNumber(); okB {
			return Number(compute(e, a, b))
		}
	}
	handler := L.metafield(x, e)
	if handler.kind == KindNil {
		handler = L.metafield(y, e)
	}
	if handler.kind == KindNil {
		if okA {
			x, from = y, fromY
		}
		L.typeError("perform arithmetic on", x, from)
	}
	return L.callMeta(handler, *x, *y)
}

func compute(e event, a, b float64) float64 {
	switch e {
	case eventAdd:
		return a + b
	case eventSub:
		return a - b
	case eventMul:
		return a * b
	case eventDiv:
		return a / b
	case eventMod:
		return modulo(a, b)
	case eventPow:
		return pow(a, b)
	}
	return -a
}

// modulo rounds after each step. The conversion keeps the compiler from fusing
// the last two.
func modulo(a, b float64) float64 {
	return a - float64(math.Floor(a/b)*b)
}

// pow is the operator ^. With an integer as exponent it computes in twice the precision, because C's
// pow rounds such results correctly and Go's does not.
func pow(a, b float64) float64 {
	if b == 2 {
		return a * a
	}
	n := int(b)
	if float64(n) != b || n < -1024 || n > 1024 {
		return math.Pow(a, b)
	}
	high, low := 1.0, 0.0
	x, xLow := a, 0.0
	for n := max(n, -n); n > 0; n >>= 1 {
		if n&1 != 0 {
			high, low = multiply(high, low, x, xLow)
		}
		x, xLow = multiply(x, xLow, x, xLow)
	}
	if n < 0 {
		q := 1 / high
		high, low = q, q*(math.FMA(-q, high, 1)-q*low)
	}
	const smallest, largest = 1e-305, 1e305
	if result := high + low; math.Abs(result) > smallest && math.Abs(result) < largest {
		return result
	}
	return math.Pow(a, b)
}

// multiply returns the product of two numbers, each the sum of a high and a low part.
func multiply(a, aLow, b, bLow float64) (high, low float64) {
	high = a * b
	return high, math.FMA(a, b, -high) + (float64(a*bLow) + float64(aLow*b))
}

// length is the operator # for what is neither a string nor a table.
func (L *Thread) length(v *Value, from operand) Value {
	handler := L.metafield(v, eventLen)
	if handler.kind == KindNil {
		L.typeError("get length of", v, from)
	}
	return L.callMeta(handler, *v, Nil)
}

// Equal is the operator ==.
func (L *Thread) Equal(v, w Value) bool { return L.equal(&v, &w) }

func (L *Thread) equal(v, w *Value) bool {
	if v.Equals(w) {
		return true
	}
	if v.kind != w.kind || v.kind != KindTable && v.kind != KindUserdata {
		return false
	}
	handler := L.sharedHandler(v, w, eventEq)
	if handler.kind == KindNil {
		return false
	}
	result := L.callMeta(handler, *v, *w)
	return result.Truthy()
}

// sharedHandler returns the metamethod of a comparison, which both operands must
// have in common.
func (L *Thread) sharedHandler(v, w *Value, e event) Value {
	a := L.metafield(v, e)
	if a.kind == KindNil || L.metatable(v) == L.metatable(w) {
		return a
	}
	if b := L.metafield(w, e); a.Equals(&b) {
		return a
	}
	return Nil
}

// Less is the operator <.
func (L *Thread) Less(v, w Value) bool { return L.less(&v, &w) }

func (L *Thread) less(v, w *Value) bool {
	switch {
	case v.kind != w.kind:
	case v.kind == KindNumber:
		return v.Num() < w.Num()
	case v.kind == KindString:
		L.stepText(v, w)
		return v.Str() < w.Str()
	default:
		if handler := L.sharedHandler(v, w, eventLt); handler.kind != KindNil {
			result := L.callMeta(handler, *v, *w)
			return result.Truthy()
		}
	}
	L.compareError(v, w)
	return false
}

// stepText charges the comparison of two long strings. Other kinds cost nothing.
func (L *Thread) stepText(v, w *Value) {
	if n := min(v.bits, w.bits); n > longText && v.kind == KindString && w.kind == KindString {
		L.Step(int(n) / bytesPerStep)
	}
}

func (L *Thread) lessEqual(v, w *Value) bool {
	switch {
	case v.kind != w.kind:
	case v.kind == KindNumber:
		return v.Num() <= w.Num()
	case v.kind == KindString:
		L.stepText(v, w)
		return v.Str() <= w.Str()
	default:
		if handler := L.sharedHandler(v, w, eventLe); handler.kind != KindNil {
			result := L.callMeta(handler, *v, *w)
			return result.Truthy()
		}
		if handler := L.sharedHandler(w, v, eventLt); handler.kind != KindNil {
			result := L.callMeta(handler, *w, *v)
			return !result.Truthy()
		}
	}
	L.compareError(v, w)
	return false
}

func (L *Thread) compareError(v, w *Value) {
	x, y := v.TypeName(), w.TypeName()
	if x[2] == y[2] { // Lua decides by the third letters whether they are the same
		L.runtimeError("attempt to compare two " + x + " values")
	}
	L.runtimeError("attempt to compare " + x + " with " + y)
}

// concat joins the n values from a place of the stack on, which are lost, and
// returns the result. It joins from the right, as many strings and numbers at
// once as there are. first is the register of the first one.
func (L *Thread) concat(at, n, first int) Value {
	for n > 1 {
		v := L.stack[at : at+n]
		joined := 0
		for joined < n && isText(&v[n-1-joined]) {
			joined++
		}
		if joined > 1 {
			v[n-joined] = L.join(v[n-joined:])
			n -= joined - 1
			continue
		}
		x, y := v[n-2], v[n-1]
		handler := L.metafield(&x, eventConcat)
		if handler.kind == KindNil {
			handler = L.metafield(&y, eventConcat)
		}
		if handler.kind == KindNil {
			if isText(&x) {
				L.typeError("concatenate", &y, operand(first+n-1))
			}
			L.typeError("concatenate", &x, operand(first+n-2))
		}
		result := L.callMeta(handler, x, y)
		n--
		L.stack[at+n-1] = result
	}
	return L.stack[at]
}

func isText(v *Value) bool { return v.kind == KindString || v.kind == KindNumber }

// join joins strings and numbers.
func (L *Thread) join(values []Value) Value {
	size, numbers := 0, 0
	for i := range values {
		if v := &values[i]; v.kind == KindString {
			size += int(v.bits)
		} else {
			numbers++
		}
	}
	// The length of a number's text is not known in advance.
	side := numbers > 0 && size <= maxArenaText
	a := &L.state.arena
	b := a.concat[:0]
	if !side {
		b = L.Alloc(size + numbers*maxNumberText)
	}
	for i := range values {
		if v := &values[i]; v.kind == KindString {
			b = append(b, v.Str()...)
		} else {
			b = AppendNumber(b, v.Num())
		}
	}
	if side {
		a.concat = b
		return L.NewString(b)
	}
	return Bytes(b)
}

func (L *Thread) addressText(v Value) Value {
	if v.ref == nil { // a userdata that is C's null pointer
		return String("userdata: (nil)")
	}
	return L.NewString(fmt.Appendf(nil, "%s: %p", v.TypeName(), v.ref))
}
