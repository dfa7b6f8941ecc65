package scripting

import (
	lua "github.com/yuin/gopher-lua"
)

// operands returns a call of the values from register a+1 on: b-1 of them, or
// all up to the top if b is 0.
func (p *plainCompiler) operands(a, b int) plainCall {
	call := plainCall{open: -1}
	end := a + b
	if b == 0 {
		before := p.proto.Code[p.pc-1]
		if opCode(before) != lua.OP_CALL {
			failNotPlain("line %d has an open list of another kind", p.line())
		}
		end = opA(before)
		if n := p.results(p.pc - 1); n < 0 {
			call.open = int32(end)
		} else {
			end += n
		}
	}
	for r := a + 1; r < end; r++ {
		call.operands = append(call.operands, p.read(r))
	}
	return call
}

// results returns the number of values that the call at pc leaves, or -1 if it
// varies.
func (p *plainCompiler) results(pc int) int {
	inst := p.proto.Code[pc]
	if c := opC(inst); c > 0 {
		return c - 1
	}
	if k := p.states[pc][opA(inst)]; k.kind == isFunction && !plainFunctions[k.n].variableResults {
		return 1
	}
	return -1
}

// call translates a call of a known function. c-1 results are wanted, or all if
// c is 0.
func (p *plainCompiler) call(out *plainInst, a, b, c int) {
	if p.regs[a].kind != isFunction {
		failNotPlain("line %d calls what need not be a library function", p.line())
	}
	fn := &plainFunctions[p.regs[a].n]
	if fn.op == plainIterate {
		p.iterate(out, a, b, c)
		return
	}
	if b > 1 && fn.ofKeys != nil {
		switch k := p.regs[a+1]; k.kind {
		case isKeys, isArgv:
			fn = fn.ofKeys[btoi(k.kind == isArgv)]
			p.write(a+1, fact{isConstant, p.constantIndex(plainNil)})
		}
	}
	call := p.operands(a, b)
	call.results, call.fn = c-1, fn
	if c == 0 && !fn.variableResults {
		call.results = 1
	}
	direct := len(call.operands) == int(fn.arity) && call.open < 0 && call.results == 1
	switch {
	case fn.op == plainCommand:
		out.op = plainCommand
		p.resolve(&call)
		out.x = p.addCall(call)
	case fn.op == plainConcat && call.open < 0 && call.results == 1:
		out.op, out.x = plainConcat, p.addCall(call)
	case fn.op == plainMod && direct:
		out.op, out.b, out.c = plainMod, call.operands[0], call.operands[1]
	case fn.op != plainNop && direct:
		out.op, out.b, out.x = fn.op, call.operands[0], fn.number
	case fn.call != nil:
		out.op, out.x = plainFunctionCall, p.addCall(call)
	default:
		failNotPlain("line %d calls %s in an unusual way", p.line(), fn.name)
	}
	for r := a; r < len(p.regs); r++ {
		p.write(r, fact{kind: anything}) // overwritten by the callee
	}
	p.next(p.pc + 1)
}

func (p *plainCompiler) iterate(out *plainInst, a, b, c int) {
	if b != 2 || c != 4 {
		failNotPlain("line %d uses ipairs or pairs outside a for", p.line())
	}
	out.op, out.x = plainIterate, plainFunctions[p.regs[a].n].number
	table := p.regs[a+1]
	if table.kind == isKeys || table.kind == isArgv {
		out.b = constantOperand(p.constantIndex(plainNil))
		out.c = 1 // always a table
	} else {
		out.b = p.read(a + 1)
		table = fact{kind: anything}
	}
	for r := a; r < len(p.regs); r++ {
		p.write(r, fact{kind: anything})
	}
	p.write(a, fact{isIterator, out.x})
	p.write(a+1, table)
	p.next(p.pc + 1)
}

// resolve looks up the command of a redis.call whose name is a constant, and
// formats the constant arguments.
func (p *plainCompiler) resolve(call *plainCall) {
	call.protected = call.fn.number == 1
	call.fixed = make([][]byte, len(call.operands))
	names := 0 // number of leading constant arguments
	for i, operand := range call.operands {
		v, ok := p.constantOf(operand)
		if !ok {
			continue
		}
		switch v.kind {
		case lua.LTString:
			call.fixed[i] = append([]byte{}, v.text()...)
		case lua.LTNumber:
			call.fixed[i] = appendArgument(nil, v.number())
		default:
			continue
		}
		if names == i {
			names++
		}
	}
	if names == 0 {
		return
	}
	call.cmd = p.engine.table.Lookup(call.fixed[0])
	call.resolved = true
	if call.cmd == nil || call.cmd.Subs == nil {
		return
	}
	call.resolved = names > 1 || len(call.operands) == 1 && call.open < 0
	call.cmd = p.engine.lookupCommand(call.fixed[:min(names, 2)])
}
