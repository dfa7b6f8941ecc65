package lua

import "math"

// execute runs the Lua function on top of the frames until it returns to Go. It
// reports false if the thread has yielded instead.
//
// What can call Lua or make the stack grow is followed by `continue frames`,
// which reads the frame and the registers anew. f.pc is set before anything
// that can fail, for the line of the error.
func (L *Thread) execute() bool {
	s := L.state
frames:
	for {
		f := &L.frames[len(L.frames)-1]
		fn, base, pc := f.fn, f.base, f.pc
		code, k := fn.proto.code, fn.proto.constants
		r := L.registers(base)
		for {
			i := &code[pc]
			pc++
			switch i.op {
			case opMove:
				r[i.a] = r[i.b]
			case opLoadK:
				r[i.a] = k[i.x]
			case opLoadBool:
				r[i.a] = Value{kind: KindBool, bits: uint64(i.b)}
				pc += int(i.c)
			case opLoadNil:
				clear(r[i.a : int(i.b)+1])
			case opGetUpval:
				r[i.a] = *fn.upvalues[i.b].v
			case opSetUpval:
				*fn.upvalues[i.b].v = r[i.a]
			case opGetGlobal:
				if v := fn.env.findString(&k[i.x]); v != nil && v.kind != KindNil {
					r[i.a] = *v
					continue
				}
				f.pc = pc
				env := TableValue(fn.env)
				L.stackSet(base, i.a, L.index(&env, &k[i.x], anonymous))
				continue frames
			case opBound:
				if v := &s.bound[i.x&boundMask]; v.kind != KindNil {
					r[i.a] = *v
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.lookupBound(fn.env, int(i.x&boundMask)))
				continue frames
			case opBoundInt:
				n := int(i.b)<<8 | int(i.c)
				if object := &s.bound[i.x]; object.kind == KindTable {
					t := object.Table()
					if v := t.findInt(n); v != nil && v.kind != KindNil {
						r[i.a] = *v
						continue
					} else if t.meta == nil {
						r[i.a] = Nil
						continue
					}
				}
				f.pc = pc
				object, key := L.boundValue(fn.env, int(i.x)), Number(float64(n))
				L.stackSet(base, i.a, L.index(&object, &key, anonymous))
				continue frames
			case opSetGlobal:
				f.pc = pc
				env := TableValue(fn.env)
				L.setIndex(&env, &k[i.x], &r[i.a], anonymous)
				continue frames
			case opGetTable:
				object, key := &r[i.b], &r[i.c]
				if object.kind == KindTable {
					t := object.Table()
					if key.kind == KindNumber {
						n := uint(int(key.Num())) - 1
						if n < uint(len(t.array)) && float64(int(n)+1) == key.Num() {
							if v := &t.array[n]; v.kind != KindNil || t.meta == nil {
								r[i.a] = *v
								continue
							}
						}
					}
					if key.bits > longText && key.kind == KindString {
						f.pc = pc
						L.Step(int(key.bits) / bytesPerStep)
					}
					if v := t.find(key); v != nil && v.kind != KindNil {
						r[i.a] = *v
						continue
					} else if t.meta == nil {
						r[i.a] = Nil
						continue
					}
				}
				f.pc = pc
				L.stackSet(base, i.a, L.index(object, key, operand(i.b)))
				continue frames
			case opGetField:
				object, key := &r[i.b], &k[i.x]
				if object.kind == KindTable {
					t := object.Table()
					if v := t.find(key); v != nil && v.kind != KindNil {
						r[i.a] = *v
						continue
					} else if t.meta == nil {
						r[i.a] = Nil
						continue
					}
				}
				f.pc = pc
				L.stackSet(base, i.a, L.index(object, key, operand(i.b)))
				continue frames
			case opGetInt:
				object := &r[i.b]
				if object.kind == KindTable {
					t := object.Table()
					if v := t.findInt(int(i.x)); v != nil && v.kind != KindNil {
						r[i.a] = *v
						continue
					} else if t.meta == nil {
						r[i.a] = Nil
						continue
					}
				}
				f.pc = pc
				key := Number(float64(i.x))
				L.stackSet(base, i.a, L.index(object, &key, operand(i.b)))
				continue frames
			case opSetTable:
				object, key := &r[i.a], &r[i.b]
				if object.kind == KindTable {
					if t := object.Table(); key.kind == KindNumber && t.meta == nil && !t.readOnly {
						n := uint(int(key.Num())) - 1
						if n < uint(len(t.array)) && float64(int(n)+1) == key.Num() {
							t.array[n] = r[i.c]
							continue
						}
					}
				}
				f.pc = pc
				L.setIndex(object, key, &r[i.c], operand(i.a))
				continue frames
			case opSetField:
				object, key := &r[i.a], &k[i.x]
				if object.kind == KindTable {
					if t := object.Table(); key.kind == KindString && !t.readOnly {
						if v := t.findString(key); v != nil && (v.kind != KindNil || t.meta == nil) {
							*v = r[i.c]
							t.absent = 0
							continue
						}
					}
				}
				f.pc = pc
				L.setIndex(object, key, &r[i.c], operand(i.a))
				continue frames
			case opSetInt:
				object := &r[i.a]
				if object.kind == KindTable {
					if t := object.Table(); int(i.x) <= len(t.array) && t.meta == nil && !t.readOnly {
						t.array[i.x-1] = r[i.c]
						continue
					}
				}
				f.pc = pc
				key := Number(float64(i.x))
				L.setIndex(object, &key, &r[i.c], operand(i.a))
				continue frames
			case opNewTable:
				f.pc = pc
				r[i.a] = TableValue(L.NewTable(int(i.x), int(i.b)<<8|int(i.c)))
			case opSelf:
				object := r[i.b]
				r[i.a+1] = object
				if object.kind == KindTable {
					if v := object.Table().inherited(&k[i.x]); v != nil {
						r[i.a] = *v
						continue
					}
				}
				f.pc = pc
				L.stackSet(base, i.a, L.index(&object, &k[i.x], operand(i.b)))
				continue frames

			case opAdd:
				x, y := &r[i.b], &r[i.c]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(x.Num() + y.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventAdd, x, y, operand(i.b), operand(i.c)))
				continue frames
			case opSub:
				x, y := &r[i.b], &r[i.c]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(x.Num() - y.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventSub, x, y, operand(i.b), operand(i.c)))
				continue frames
			case opMul:
				x, y := &r[i.b], &r[i.c]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(x.Num() * y.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventMul, x, y, operand(i.b), operand(i.c)))
				continue frames
			case opDiv:
				x, y := &r[i.b], &r[i.c]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(x.Num() / y.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventDiv, x, y, operand(i.b), operand(i.c)))
				continue frames
			case opMod, opPow:
				f.pc = pc
				e := eventAdd + event(i.op-opAdd)
				x, y := &r[i.b], &r[i.c]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(compute(e, x.Num(), y.Num()))
					continue
				}
				L.stackSet(base, i.a, L.arith(e, x, y, operand(i.b), operand(i.c)))
				continue frames
			case opAddK:
				x, y := &r[i.b], &k[i.x]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(x.Num() + y.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventAdd, x, y, operand(i.b), anonymous))
				continue frames
			case opSubK:
				x, y := &r[i.b], &k[i.x]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(x.Num() - y.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventSub, x, y, operand(i.b), anonymous))
				continue frames
			case opMulK, opDivK, opModK, opPowK:
				f.pc = pc
				e := eventAdd + event(i.op-opAddK)
				x, y := &r[i.b], &k[i.x]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(compute(e, x.Num(), y.Num()))
					continue
				}
				L.stackSet(base, i.a, L.arith(e, x, y, operand(i.b), anonymous))
				continue frames
			case opKAdd, opKSub, opKMul, opKDiv, opKMod, opKPow:
				f.pc = pc
				e := eventAdd + event(i.op-opKAdd)
				x, y := &k[i.x], &r[i.c]
				if x.kind == KindNumber && y.kind == KindNumber {
					r[i.a].setNumber(compute(e, x.Num(), y.Num()))
					continue
				}
				L.stackSet(base, i.a, L.arith(e, x, y, anonymous, operand(i.c)))
				continue frames
			case opUnm:
				x := &r[i.b]
				if x.kind == KindNumber {
					r[i.a].setNumber(-x.Num())
					continue
				}
				f.pc = pc
				L.stackSet(base, i.a, L.arith(eventUnm, x, x, operand(i.b), operand(i.b)))
				continue frames
			case opNot:
				r[i.a] = Bool(!r[i.b].Truthy())
			case opLen:
				switch x := &r[i.b]; x.kind {
				case KindTable:
					r[i.a].setNumber(float64(x.Table().Len()))
				case KindString:
					r[i.a].setNumber(float64(x.bits))
				default:
					f.pc = pc
					L.stackSet(base, i.a, L.length(x, operand(i.b)))
					continue frames
				}
			case opConcat:
				f.pc = pc
				L.stackSet(base, i.a, L.concat(base+int(i.b), int(i.c)-int(i.b)+1, int(i.b)))
				continue frames

			case opJump:
				pc += int(i.x)
			case opJumpBack:
				if s.Steps--; s.Steps < 0 {
					f.pc = pc
					L.poll()
				}
				pc += int(i.x)
			case opClose:
				L.closeUpvalues(base + int(i.a))
			case opEqual, opEqualK:
				x, y := &r[i.b], &r[i.c]
				if i.op == opEqualK {
					y = &k[i.x]
				}
				var holds bool
				switch {
				case x.kind != y.kind:
				case x.kind == KindNumber:
					holds = x.Num() == y.Num()
				case x.kind == KindTable || x.kind == KindUserdata:
					if holds = x.ref == y.ref; !holds {
						f.pc = pc
						holds = L.equal(x, y)
						f = &L.frames[len(L.frames)-1]
						r = L.registers(base)
					}
				default:
					if x.bits > longText && x.kind == KindString && x.bits == y.bits {
						f.pc = pc
						L.Step(int(x.bits) / bytesPerStep)
					}
					holds = x.Equals(y)
				}
				if holds != (i.a != 0) {
					pc++
					continue
				}
			case opLess, opLessK, opKLess:
				x, y := &r[i.b], &r[i.c]
				switch i.op {
				case opLessK:
					y = &k[i.x]
				case opKLess:
					x = &k[i.x]
				}
				var holds bool
				if x.kind == KindNumber && y.kind == KindNumber {
					holds = x.Num() < y.Num()
				} else {
					f.pc = pc
					holds = L.less(x, y)
					f = &L.frames[len(L.frames)-1]
					r = L.registers(base)
				}
				if holds != (i.a != 0) {
					pc++
					continue
				}
			case opLessEqual, opLessEqualK, opKLessEqual:
				x, y := &r[i.b], &r[i.c]
				switch i.op {
				case opLessEqualK:
					y = &k[i.x]
				case opKLessEqual:
					x = &k[i.x]
				}
				var holds bool
				if x.kind == KindNumber && y.kind == KindNumber {
					holds = x.Num() <= y.Num()
				} else {
					f.pc = pc
					holds = L.lessEqual(x, y)
					f = &L.frames[len(L.frames)-1]
					r = L.registers(base)
				}
				if holds != (i.a != 0) {
					pc++
					continue
				}
			case opTest:
				if r[i.b].Truthy() != (i.c != 0) {
					pc++
					continue
				}
			case opTestSet:
				if r[i.b].Truthy() != (i.c != 0) {
					pc++
					continue
				}
				r[i.a] = r[i.b]

			case opCall:
				at := base + int(i.a)
				if i.b != 0 {
					L.top = at + int(i.b)
				}
				f.pc = pc
				if s.Steps--; s.Steps < 0 {
					L.poll()
				}
				var callee *Function
				if r[i.a].kind == KindFunction {
					callee = r[i.a].Function()
				} else {
					callee = L.callable(at)
				}
				if p := callee.proto; p != nil {
					n := len(L.frames)
					if p.vararg || at+1+window > len(L.stack) || n >= min(cap(L.frames), maxFrames) {
						L.enterLua(callee, at, int(i.c)-1)
						continue frames
					}
					// What enterLua does, without a call.
					fn, base, pc, code, k = callee, at+1, 0, p.code, p.constants
					r = L.registers(base)
					for given := L.top - base; given < p.params; given++ {
						r[given] = Nil
					}
					L.frames = L.frames[:n+1]
					f = &L.frames[n]
					f.fn, f.result, f.base, f.wanted = fn, at, base, int(i.c)-1
					f.extra, f.pc, f.tail, f.caller = 0, 0, 0, callerOther
					continue
				}
				if i.c == 2 && L.top == at+2 && callee.host.direct != nil {
					if v, ok := callee.host.direct(L, &r[i.a+1]); ok {
						r[i.a] = v
						continue
					}
				}
				switch L.callFromLua(callee, at, int(i.c)-1) {
				case returns:
					f = &L.frames[len(L.frames)-1]
					r = L.registers(base)
				case yields:
					return false
				default:
					continue frames
				}
			case opDirect:
				f.pc = pc
				if callee := &s.bound[i.x&boundMask]; callee.kind == KindFunction {
					if v, ok := callee.Function().host.direct(L, &r[i.b]); ok {
						r[i.a] = v
						continue
					}
				}
				at := base + int(i.a)
				L.stack[at+1] = r[i.b]
				L.stack[at] = L.boundValue(fn.env, int(i.x&boundMask))
				L.top = at + 2
				if L.call(at, 1) {
					continue frames
				}
				return false
			case opCallSite:
				site := &fn.proto.sites[i.x]
				f.pc = pc
				if s.Steps--; s.Steps < 0 {
					L.poll()
				}
				at := base + int(i.a)
				if callee := &s.bound[site.bound]; site.Data != nil && callee.kind == KindFunction {
					v, raise := callee.Function().host.atSite(L, site, r, int(i.c)-1)
					if raise {
						L.raiseAtSite(callee.Function(), at, v)
						continue frames
					}
					switch i.c {
					case 1:
					case 2:
						r[i.a] = v
					default:
						L.stack[at] = v
						L.moveResults(at, 1, at, int(i.c)-1)
					}
					continue
				}
				L.spreadArgs(site, fn.env, base, at)
				if L.call(at, int(i.c)-1) {
					continue frames
				}
				return false
			case opTailCall:
				at := base + int(i.a)
				if i.b != 0 {
					L.top = at + int(i.b)
				}
				f.pc = pc
				if s.Steps--; s.Steps < 0 {
					L.poll()
				}
				callee := L.callable(at)
				if callee.proto == nil {
					if L.callFromLua(callee, at, all) == yields {
						return false
					}
					continue frames // to the return instruction
				}
				L.tailCall(callee, at)
				continue frames
			case opReturn:
				from, n := base+int(i.a), int(i.b)-1
				if n < 0 {
					n = L.top - from
				}
				if L.open != nil {
					L.closeUpvalues(base)
				}
				to, wanted, caller := f.result, f.wanted, f.caller
				L.frames = L.frames[:len(L.frames)-1]
				if n == 1 && wanted == 1 {
					L.stack[to] = r[i.a]
					L.top = to + 1
				} else {
					L.moveResults(from, n, to, wanted)
				}
				switch caller {
				case callerGo:
					return true
				case callerPCall:
					L.endProtected()
				}
				continue frames

			case opForPrep:
				f.pc = pc
				L.prepareFor((*[3]Value)(r[i.a : int(i.a)+3]))
				pc += int(i.x)
			case opForLoop:
				index, limit, step := &r[i.a], r[i.a+1].Num(), r[i.a+2].Num()
				next := index.Num() + step
				if step > 0 && next <= limit || !(step > 0) && next >= limit {
					index.bits = math.Float64bits(next)
					r[i.a+3].setNumber(next)
					if s.Steps--; s.Steps < 0 {
						f.pc = pc
						L.poll()
					}
					pc += int(i.x)
				}
			case opTForLoop:
				f.pc = pc
				if s.Steps--; s.Steps < 0 {
					L.poll()
				}
				if r[i.a].kind == KindFunction && r[i.a].Function().iterator != iteratesOther {
					L.iterate(r[i.a].Function().iterator, (*[5]Value)(r[i.a:int(i.a)+5]), int(i.c))
				} else {
					L.callIterator(base+int(i.a), int(i.c))
					f = &L.frames[len(L.frames)-1]
					r = L.registers(base)
				}
				if r[i.a+3].kind == KindNil {
					pc++
					continue
				}
				r[i.a+2] = r[i.a+3]
			case opSetList:
				f.pc = pc
				L.setList(r[i.a].Table(), base+int(i.a)+1, int(i.b)-1, int(i.x))
			case opClosure:
				f.pc = pc
				r[i.a] = FunctionValue(L.closure(fn, fn.proto.protos[i.x], base))
			case opVararg:
				f.pc = pc
				L.varargs(f, base+int(i.a), int(i.b)-1)
				r = L.registers(base)
			}
		}
	}
}

// stackSet stores a result in a register of the function with that base.
func (L *Thread) stackSet(base int, reg uint8, v Value) { L.stack[base+int(reg)] = v }
