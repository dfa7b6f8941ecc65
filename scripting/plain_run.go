package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// run runs a program. The result is undefined if the run fails.
func (f *plainFrame) run(p *plainProgram) plainValue {
	code, v := p.code, f.values
	for n := int32(0); ; {
		i := &code[n]
		n++
		switch i.op {
		case plainMove:
			v[i.a] = v[i.b]
		case plainSetNil:
			clear(v[i.a : i.a+i.x+1])
		case plainKey:
			v[i.a] = element(f.keys, int(i.x))
		case plainArg:
			v[i.a] = element(f.args, int(i.x))
		case plainKeyAt:
			v[i.a] = elementAt(f.keys, &v[i.b])
		case plainArgAt:
			v[i.a] = elementAt(f.args, &v[i.b])
		case plainKeyCount:
			v[i.a].setNumber(float64(len(f.keys)))
		case plainArgCount:
			v[i.a].setNumber(float64(len(f.args)))
		case plainIndex:
			object := &v[i.b]
			if object.kind != lua.LTTable {
				if !f.indexOther(i, &v[i.a], object) {
					return plainNil
				}
				break
			}
			v[i.a] = object.table().get(&v[i.c])
		case plainSetIndex:
			f.pc = i.pc
			if !f.setIndex(i, &v[i.a], &v[i.b], &v[i.c]) {
				return plainNil
			}
		case plainNewTable:
			f.pc = i.pc
			t := f.newTable()
			if f.failed {
				return plainNil
			}
			v[i.a] = plainTableValue(t)
		case plainSetList:
			f.pc = i.pc
			if !f.setList(v[i.a].table(), &p.calls[i.x], int(i.c)) {
				return plainNil
			}
		case plainAdd:
			if x, y := &v[i.b], &v[i.c]; x.kind == lua.LTNumber && y.kind == lua.LTNumber {
				v[i.a].setNumber(x.number() + y.number())
			} else if !f.arithmetic(i) {
				return plainNil
			}
		case plainSub:
			if x, y := &v[i.b], &v[i.c]; x.kind == lua.LTNumber && y.kind == lua.LTNumber {
				v[i.a].setNumber(x.number() - y.number())
			} else if !f.arithmetic(i) {
				return plainNil
			}
		case plainMul:
			if x, y := &v[i.b], &v[i.c]; x.kind == lua.LTNumber && y.kind == lua.LTNumber {
				v[i.a].setNumber(x.number() * y.number())
			} else if !f.arithmetic(i) {
				return plainNil
			}
		case plainDiv, plainPow:
			if !f.arithmetic(i) {
				return plainNil
			}
		case plainMod:
			if !f.modulo(i) {
				return plainNil
			}
		case plainMinus:
			if x, ok := v[i.b].asNumber(); ok {
				v[i.a].setNumber(-x)
			} else {
				f.typeError(i.pc, opB(p.proto.Code[i.pc]), &v[i.b], "perform arithmetic on")
				return plainNil
			}
		case plainNot:
			v[i.a] = plainBool(!v[i.b].truthy())
		case plainLen:
			if !f.length(i) {
				return plainNil
			}
		case plainConcat:
			f.pc = i.pc
			result, fault := f.concat(p.calls[i.x].operands)
			if fault >= 0 {
				bad := &v[p.calls[i.x].operands[fault]]
				f.raise(i.pc, "attempt to concatenate "+
					describeArgument(p.proto, int(i.pc), fault+1, bad.typeName()))
				return plainNil
			}
			if f.failed {
				return plainNil
			}
			v[i.a] = result
		case plainForOperand:
			x, ok := v[i.b].asNumber()
			if !ok {
				f.raise(i.pc, "'for' "+forOperands[i.x]+" must be a number")
				return plainNil
			}
			v[i.a].setNumber(x)
		case plainForPrep:
			v[i.a].setNumber(v[i.a].number() - v[i.a+2].number())
			n = i.to
		case plainForLoop:
			index, limit, step := v[i.a].number(), v[i.a+1].number(), v[i.a+2].number()
			index += step
			v[i.a].setNumber(index)
			n = i.alt
			if step > 0 && index <= limit || step <= 0 && index >= limit {
				v[i.a+3].setNumber(index)
				n = i.to
				if !f.step(i.pc) {
					return plainNil
				}
			}
		case plainIterate:
			if v[i.b].kind != lua.LTTable && i.c == 0 {
				f.argumentError(int(i.pc), 1, "table expected, got "+v[i.b].typeName())
				return plainNil
			}
			v[i.a+1] = v[i.b]
			v[i.a+2] = plainNumber(0)
			if i.x == 1 {
				v[i.a+2] = plainNil
			}
		case plainEach, plainEachKey, plainEachArg:
			n = i.alt
			if f.each(i, v) {
				n = i.to
			}
		case plainJump:
			n = i.to
		case plainBack:
			n = i.to
			if !f.step(i.pc) {
				return plainNil
			}
		case plainEqual:
			n = i.alt
			if v[i.b].equals(&v[i.c]) == i.when {
				n = i.to
			}
		case plainLess:
			var holds bool
			if x, y := &v[i.b], &v[i.c]; x.kind == lua.LTNumber && y.kind == lua.LTNumber {
				holds = x.number() < y.number()
			} else if holds = f.less(i, x, y, false); f.failed {
				return plainNil
			}
			n = i.alt
			if holds == i.when {
				n = i.to
			}
		case plainLessEqual:
			var holds bool
			if x, y := &v[i.b], &v[i.c]; x.kind == lua.LTNumber && y.kind == lua.LTNumber {
				holds = x.number() <= y.number()
			} else if holds = f.less(i, x, y, true); f.failed {
				return plainNil
			}
			n = i.alt
			if holds == i.when {
				n = i.to
			}
		case plainTest:
			n = i.alt
			if v[i.b].truthy() == i.when {
				n = i.to
			}
		case plainTestSet:
			n = i.alt
			if v[i.b].truthy() == i.when {
				v[i.a] = v[i.b]
				n = i.to
			}
		case plainCommand:
			f.pc = i.pc
			if !f.command(i, &p.calls[i.x]) {
				return plainNil
			}
			v = f.values
		case plainFunctionCall:
			f.pc = i.pc
			if !f.callFunction(i, &p.calls[i.x]) {
				return plainNil
			}
			v = f.values
		case plainToNumber:
			if x := &v[i.b]; x.kind == lua.LTNumber {
				v[i.a].setNumber(x.number())
			} else if number, ok := x.asNumber(); ok {
				v[i.a].setNumber(number)
			} else {
				v[i.a] = plainNil
			}
		case plainToString:
			f.pc = i.pc
			if v[i.a] = f.toString(&v[i.b]); f.failed {
				return plainNil
			}
		case plainMath:
			x, ok := v[i.b].asNumber()
			if !ok {
				f.argumentError(int(i.pc), 1, "number expected, got "+v[i.b].typeName())
				return plainNil
			}
			v[i.a].setNumber(unaryMath[i.x].fn(x))
		case plainNoGlobal:
			f.raise(i.pc, "Script attempted to access nonexistent global variable '"+v[i.b].text()+"'")
			return plainNil
		case plainReturn:
			return v[i.b]
		case plainReturnFirst:
			if i.b < f.top {
				return v[i.b]
			}
			return plainNil
		}
	}
}

var forOperands = [...]string{"initial value", "limit", "step"}

func element(list [][]byte, n int) plainValue {
	if n <= len(list) {
		return plainBytes(list[n-1])
	}
	return plainNil
}

func elementAt(list [][]byte, key *plainValue) plainValue {
	if n := arrayIndex(key) + 1; n > 0 {
		return element(list, n)
	}
	return plainNil
}

// each performs a step of ipairs or pairs. It reports whether there was a
// value.
func (f *plainFrame) each(i *plainInst, v []plainValue) bool {
	control := &v[i.a+2]
	var key, value plainValue
	switch {
	case i.op == plainEach && i.x == 1:
		key, value = v[i.a+1].table().next(control)
	default:
		n := 1
		if control.kind == lua.LTNumber {
			n = int(control.number()) + 1
		}
		switch i.op {
		case plainEachKey:
			value = element(f.keys, n)
		case plainEachArg:
			value = element(f.args, n)
		default:
			value = v[i.a+1].table().at(n)
		}
		if value.kind != lua.LTNil {
			key = plainNumber(float64(n))
		}
	}
	v[i.a+3] = key
	if i.c > 1 {
		v[i.a+4] = value
	}
	if i.c > 2 {
		clear(v[i.a+5 : i.a+3+i.c])
	}
	if key.kind == lua.LTNil {
		return false
	}
	*control = key
	return true
}

func (f *plainFrame) setList(t *plainTable, call *plainCall, n int) bool {
	many := len(call.operands)
	if call.open >= 0 {
		many += int(max(f.top-call.open, 0))
	}
	if f.grow(many * plainValueSize); f.failed {
		return false
	}
	for _, o := range call.operands {
		t.put(n, f.values[o])
		n++
	}
	if call.open >= 0 {
		for o := call.open; o < f.top; o++ {
			t.put(n, f.values[o])
			n++
		}
	}
	return true
}

func (f *plainFrame) arithmetic(i *plainInst) bool {
	x, y := &f.values[i.b], &f.values[i.c]
	a, okA := x.asNumber()
	b, okB := y.asNumber()
	if !okA || !okB {
		f.arithmeticError(i, x, y)
		return false
	}
	var result float64
	switch i.op {
	case plainAdd:
		result = a + b
	case plainSub:
		result = a - b
	case plainMul:
		result = a * b
	case plainDiv:
		result = a / b
	case plainPow:
		result = math.Pow(a, b)
	}
	f.values[i.a].setNumber(result)
	return true
}

// modulo is the operator %, which in the bytecode is a call of a hidden
// function.
func (f *plainFrame) modulo(i *plainInst) bool {
	x, y := &f.values[i.b], &f.values[i.c]
	a, okA := x.asNumber()
	b, okB := y.asNumber()
	if okA && okB {
		f.values[i.a].setNumber(modulo(a, b))
		return true
	}
	n, bad := 1, x
	if okA {
		n, bad = 2, y
	}
	f.raise(i.pc, "attempt to perform arithmetic on "+
		describeArgument(f.program.proto, int(i.pc), n, bad.typeName()))
	return false
}

func (f *plainFrame) length(i *plainInst) bool {
	switch v := &f.values[i.b]; v.kind {
	case lua.LTString:
		f.values[i.a].setNumber(float64(len(v.text())))
	case lua.LTTable:
		f.values[i.a].setNumber(float64(v.table().length()))
	default:
		f.typeError(i.pc, opB(f.program.proto.Code[i.pc]), v, "get length of")
		return false
	}
	return true
}

func (f *plainFrame) less(i *plainInst, x, y *plainValue, orEqual bool) bool {
	if x.kind == lua.LTString && y.kind == lua.LTString {
		if orEqual {
			return x.text() <= y.text()
		}
		return x.text() < y.text()
	}
	f.raise(i.pc, compareTypes(x.typeName(), y.typeName()))
	return false
}

// indexOther reads a field of a value that is not a table. A string has the
// library functions as fields, but plain scripts do not read those.
func (f *plainFrame) indexOther(i *plainInst, result, object *plainValue) bool {
	if object.kind == lua.LTString {
		*result = plainNil
		return true
	}
	f.typeError(i.pc, opB(f.program.proto.Code[i.pc]), object, "index")
	return false
}

func (f *plainFrame) setIndex(i *plainInst, object, key, value *plainValue) bool {
	switch {
	case object.kind != lua.LTTable:
		f.typeError(i.pc, opA(f.program.proto.Code[i.pc]), object, "index")
	case key.kind == lua.LTNil:
		f.raise(i.pc, "table index is nil")
	case key.kind == lua.LTNumber && key.number() != key.number():
		f.raise(i.pc, "table index is NaN")
	default:
		t := object.table()
		if n := arrayIndex(key) + 1; n > len(t.array) {
			f.reserveArray(t, n)
		} else if n == 0 {
			f.reserveEntry(t)
		}
		if !f.failed {
			t.set(*key, *value)
		}
	}
	return !f.failed
}
