package scripting

import (
	lua "github.com/yuin/gopher-lua"
)

var plainArithmetic = map[int]plainOp{
	lua.OP_ADD: plainAdd, lua.OP_SUB: plainSub, lua.OP_MUL: plainMul,
	lua.OP_DIV: plainDiv, lua.OP_POW: plainPow,
}

var plainCompare = map[int]plainOp{lua.OP_EQ: plainEqual, lua.OP_LT: plainLess, lua.OP_LE: plainLessEqual}

// translate translates the instruction at pc with the facts before it, and sets
// p.succ to its successors with the facts after it.
func (p *plainCompiler) translate(pc int) plainInst {
	p.pc, p.succ = pc, p.succ[:0]
	p.regs = append(p.regs[:0], p.states[pc]...)
	inst := p.proto.Code[pc]
	op, a, b, c := opCode(inst), opA(inst), opB(inst), opC(inst)
	out := plainInst{pc: int32(pc), a: int32(a)}
	set := func(k fact) {
		p.write(a, k)
		p.next(pc + 1)
	}
	value := fact{kind: anything}
	switch op {
	case lua.OP_MOVE, lua.OP_MOVEN: // the moves announced by MOVEN follow as separate instructions
		k := p.regs[b]
		if k.kind == anything {
			k = fact{isCopy, int32(b)}
		}
		if k == (fact{isCopy, int32(a)}) {
			p.next(pc + 1) // it has the value already
			break
		}
		if !k.special() {
			out.op, out.b = plainMove, p.read(b)
		}
		set(k)
	case lua.OP_LOADK:
		k := p.protoConstant(opBx(inst))
		out.op, out.b = plainMove, constantOperand(k.n)
		set(k)
	case lua.OP_LOADBOOL:
		k := fact{isConstant, p.constantIndex(plainBool(b != 0))}
		out.op, out.b = plainMove, constantOperand(k.n)
		p.write(a, k)
		if c != 0 {
			out.to = int32(pc + 2)
		}
		p.next(pc + 1 + btoi(c != 0))
	case lua.OP_LOADNIL:
		out.op, out.x = plainSetNil, int32(b-a)
		k := fact{isConstant, p.constantIndex(plainNil)}
		for r := a; r <= b; r++ {
			p.write(r, k)
		}
		p.next(pc + 1)
	case lua.OP_GETGLOBAL:
		p.global(&out, a, constantString(p.proto, opBx(inst)))
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		p.indexed(&out, b, c)
		set(p.indexedFact(b, c))
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
		out.op, out.a, out.b, out.c = plainSetIndex, p.read(a), p.read(b), p.read(c)
		p.next(pc + 1)
	case lua.OP_NEWTABLE:
		out.op = plainNewTable
		set(fact{anything, notString})
	case lua.OP_SETLIST:
		p.setList(&out, a, b, c)
	case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_POW:
		out.op, out.b, out.c = plainArithmetic[op], p.read(b), p.read(c)
		set(fact{anything, notString})
	case lua.OP_UNM, lua.OP_NOT:
		out.op, out.b = plainMinus, p.read(b)
		if op == lua.OP_NOT {
			out.op = plainNot
		}
		set(fact{anything, notString})
	case lua.OP_LEN:
		out.op = plainLen
		switch {
		case b&constantBit == 0 && p.regs[b].kind == isKeys:
			out.op = plainKeyCount
		case b&constantBit == 0 && p.regs[b].kind == isArgv:
			out.op = plainArgCount
		default:
			out.b = p.read(b)
		}
		set(fact{anything, notString})
	case lua.OP_JMP:
		out.op, out.to = plainJump, int32(pc+1+opSbx(inst))
		p.next(int(out.to))
	case lua.OP_EQ, lua.OP_LT, lua.OP_LE:
		out.op, out.b, out.c = plainCompare[op], p.read(b), p.read(c)
		p.branch(&out, a != 0)
	case lua.OP_TEST:
		out.op, out.b = plainTest, p.read(a)
		p.branch(&out, c != 0)
	case lua.OP_TESTSET:
		// The register is written only if the test goes to the jump.
		out.op, out.b = plainTestSet, p.read(b)
		out.when, out.to, out.alt = c != 0, int32(pc+1), int32(pc+2)
		p.next(pc + 2)
		p.write(a, value)
		p.next(pc + 1)
	case lua.OP_CALL:
		p.call(&out, a, b, c)
	case lua.OP_TAILCALL:
		// The instruction after it returns all results, of which a reply shows
		// the first.
		p.call(&out, a, b, 2)
	case lua.OP_RETURN:
		switch b {
		case 0:
			out.op, out.b = plainReturn, p.read(a)
			before := p.proto.Code[pc-1]
			if opCode(before) == lua.OP_CALL && p.results(pc-1) < 0 && opA(before) == a {
				out.op = plainReturnFirst // there may be none
			}
		case 1:
			out.op, out.b = plainReturn, constantOperand(p.constantIndex(plainNil))
		default:
			out.op, out.b = plainReturn, p.read(a)
		}
	case lua.OP_FORPREP:
		out.op, out.to = plainForPrep, int32(pc+1+opSbx(inst))
		p.values(a, a+1, a+2)
		p.write(a, fact{anything, notString})
		p.next(int(out.to))
	case lua.OP_FORLOOP:
		out.op, out.to, out.alt = plainForLoop, int32(pc+1+opSbx(inst)), int32(pc+1)
		p.values(a, a+1, a+2)
		p.write(a, fact{anything, notString})
		p.next(pc + 1)
		p.write(a+3, fact{anything, notString})
		p.next(int(out.to))
	case lua.OP_TFORLOOP:
		p.iterationStep(&out, a, c)
	case lua.OP_CLOSE, lua.OP_NOP:
		p.next(pc + 1)
	default:
		failNotPlain("line %d has a function of its own, or another construct that is not plain", p.line())
	}
	return out
}

func (p *plainCompiler) values(regs ...int) {
	for _, r := range regs {
		p.read(r)
	}
}

// branch translates a test that skips the following jump unless its outcome is
// when.
func (p *plainCompiler) branch(out *plainInst, when bool) {
	out.when, out.to, out.alt = when, int32(p.pc+1), int32(p.pc+2)
	p.next(p.pc + 1)
	p.next(p.pc + 2)
}

// global reads a global: a supported function, KEYS, ARGV, or a library for its
// constants.
func (p *plainCompiler) global(out *plainInst, a int, name string) {
	var k fact
	switch {
	case name == "KEYS":
		k.kind = isKeys
	case name == "ARGV":
		k.kind = isArgv
	case plainFunctionIndex(name) >= 0:
		k = fact{isFunction, plainFunctionIndex(name)}
	case plainLibraries[name] != nil:
		k = fact{isLibrary, p.constantIndex(plainString(name))}
	case isGlobalName(name):
		failNotPlain("line %d uses %s", p.line(), name)
	default:
		out.op, out.b = plainNoGlobal, constantOperand(p.constantIndex(plainString(name)))
		k.kind = anything
	}
	p.write(a, k)
	p.next(p.pc + 1)
}

func (p *plainCompiler) indexed(out *plainInst, b, c int) {
	object := p.regs[b]
	if object.kind == isLibrary {
		return // indexedFact returns the value
	}
	key := p.read(c)
	v, fixedKey := p.constantOf(key)
	place := arrayIndex(&v) + 1
	switch object.kind {
	case isKeys, isArgv:
		fixed, dynamic := keyInstructions(object.kind == isArgv)
		if fixedKey && place > 0 {
			out.op, out.x = fixed, int32(place)
			return
		}
		out.op, out.b = dynamic, key
	default:
		out.op, out.b, out.c = plainIndex, p.read(b), key
		named := v.kind == lua.LTString && isLibraryFunction("string", v.text())
		if named || !fixedKey && !p.surelyNotString(c) && !p.surelyNotString(b) {
			failNotPlain("line %d may want a function of a string", p.line())
		}
	}
}

// surelyNotString reports whether a register cannot hold a string.
func (p *plainCompiler) surelyNotString(reg int) bool {
	k := p.regs[reg]
	if k.kind == isCopy {
		k = p.regs[k.n]
	}
	return k == fact{anything, notString}
}

func keyInstructions(argv bool) (fixed, dynamic plainOp) {
	if argv {
		return plainArg, plainArgAt
	}
	return plainKey, plainKeyAt
}

func (p *plainCompiler) indexedFact(b, c int) fact {
	object := p.regs[b]
	if object.kind != isLibrary {
		return fact{kind: anything}
	}
	name, ok := p.constantOf(p.read(c))
	if ok && name.kind == lua.LTString {
		if v, ok := plainLibraries[p.constants[object.n].text()][name.text()]; ok {
			return fact{isConstant, p.constantIndex(v)}
		}
	}
	failNotPlain("line %d uses a library as a value", p.line())
	return fact{}
}

func (p *plainCompiler) setList(out *plainInst, a, b, c int) {
	if c == 0 {
		failNotPlain("line %d has a very long table", p.line())
	}
	out.op, out.a, out.c = plainSetList, p.read(a), int32((c-1)*lua.FieldsPerFlush+1)
	if b > 0 {
		b++ // here it counts the values alone
	}
	out.x = p.addCall(p.operands(a, b))
	p.next(p.pc + 1)
}

// iterationStep translates a step of a generic for with a known iterator. The jump back
// follows it.
func (p *plainCompiler) iterationStep(out *plainInst, a, c int) {
	if p.regs[a].kind != isIterator {
		failNotPlain("line %d iterates in another way than with ipairs or pairs", p.line())
	}
	out.op, out.x, out.c = plainEach, p.regs[a].n, int32(c)
	switch k := p.regs[a+1]; k.kind {
	case isKeys:
		out.op = plainEachKey
	case isArgv:
		out.op = plainEachArg
	default:
		out.b = p.read(a + 1)
	}
	p.values(a + 2) // in its register
	out.to, out.alt = int32(p.pc+1), int32(p.pc+2)
	for r := a + 3; r < a+3+max(c, 2) && r < len(p.regs); r++ {
		p.write(r, fact{kind: anything})
	}
	p.next(p.pc + 2)
	p.write(a+2, fact{kind: anything})
	p.next(p.pc + 1)
}

func (p *plainCompiler) addCall(c plainCall) int32 {
	if !p.emitting {
		return 0
	}
	p.calls = append(p.calls, c)
	return int32(len(p.calls) - 1)
}
