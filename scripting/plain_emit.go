package scripting

type registerSet [5]uint64

const maxPlainRegisters = len(registerSet{}) * 64

func (s *registerSet) add(r int32)      { s[r/64] |= 1 << (r % 64) }
func (s *registerSet) remove(r int32)   { s[r/64] &^= 1 << (r % 64) }
func (s *registerSet) has(r int32) bool { return s[r/64]>>(r%64)&1 != 0 }

func (s *registerSet) addAll(t *registerSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (p *plainCompiler) emit() {
	p.emitting = true
	code := make([]plainInst, len(p.proto.Code))
	used := make([]bool, len(code))
	for pc := range code {
		if p.states[pc] != nil {
			code[pc] = p.translate(pc)
		}
	}
	for pc := range code {
		if i := &code[pc]; i.branches() {
			i.to = followJumps(code, i.to)
			if i.alt != 0 {
				i.alt = followJumps(code, i.alt)
			}
		}
	}
	p.markReachable(code, used)
	p.removeDead(code, used)
	p.compact(code, used)
}

// followJumps returns the final target of a chain of jumps.
func followJumps(code []plainInst, pc int32) int32 {
	for range 16 {
		if code[pc].op != plainJump {
			break
		}
		pc = code[pc].to
	}
	return pc
}

// branches reports whether an instruction has explicit successors.
func (i *plainInst) branches() bool {
	switch i.op {
	case plainJump, plainForPrep, plainForLoop, plainEach, plainEachKey, plainEachArg,
		plainEqual, plainLess, plainLessEqual, plainTest, plainTestSet:
		return true
	}
	return i.to != 0 // a LOADBOOL that skips
}

func (i *plainInst) successors(pc int32, fn func(int32)) {
	switch {
	case i.op == plainReturn || i.op == plainReturnFirst:
	case !i.branches():
		fn(pc + 1)
	default:
		fn(i.to)
		if i.alt != 0 {
			fn(i.alt)
		}
	}
}

func (p *plainCompiler) markReachable(code []plainInst, used []bool) {
	for work := []int32{0}; len(work) > 0; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if used[pc] {
			continue
		}
		used[pc] = true
		code[pc].successors(pc, func(next int32) { work = append(work, next) })
	}
}

// removeDead removes instructions whose results are not read. It iterates
// backwards over the code until nothing changes.
func (p *plainCompiler) removeDead(code []plainInst, used []bool) {
	live := make([]registerSet, len(code)) // before each instruction
	after := func(pc int32) (s registerSet) {
		code[pc].successors(pc, func(next int32) { s.addAll(&live[next]) })
		return s
	}
	for changed := true; changed; {
		changed = false
		for pc := int32(len(code)) - 1; pc >= 0; pc-- {
			if !used[pc] {
				continue
			}
			s := after(pc)
			if code[pc].isDead(&s) {
				code[pc].defines(p.calls, s.remove)
			} else {
				code[pc].defines(p.calls, s.remove)
				code[pc].uses(p, s.add)
			}
			if s != live[pc] {
				live[pc], changed = s, true
			}
		}
	}
	for pc := range code {
		if !used[pc] {
			continue
		}
		s := after(int32(pc))
		if code[pc].isDead(&s) {
			code[pc].op = plainNop
		}
		if code[pc].op == plainCommand {
			if call := &p.calls[code[pc].x]; call.results == 1 && !s.has(code[pc].a) {
				call.results = 0 // the reply need not be converted
			}
		}
	}
}

// isDead reports whether an instruction only writes registers that are not in
// live.
func (i *plainInst) isDead(live *registerSet) bool {
	switch i.op {
	case plainNop:
		return true
	case plainMove, plainKey, plainArg, plainKeyCount, plainArgCount, plainNot:
		return !live.has(i.a)
	case plainSetNil:
		for r := i.a; r <= i.a+i.x; r++ {
			if live.has(r) {
				return false
			}
		}
		return true
	}
	return false
}

func (i *plainInst) defines(calls []plainCall, fn func(int32)) {
	switch i.op {
	case plainNop, plainSetIndex, plainSetList, plainEach, plainEachKey, plainEachArg, plainJump, plainBack,
		plainEqual, plainLess, plainLessEqual, plainTest, plainTestSet, plainNoGlobal,
		plainReturn, plainReturnFirst:
	case plainSetNil:
		for r := i.a; r <= i.a+i.x; r++ {
			fn(r)
		}
	case plainIterate:
		fn(i.a + 1)
		fn(i.a + 2)
	case plainCommand, plainFunctionCall:
		for r := range max(calls[i.x].results, 0) {
			fn(i.a + int32(r))
		}
	default:
		fn(i.a)
	}
}

func (i *plainInst) uses(p *plainCompiler, fn func(int32)) {
	read := func(operands ...int32) {
		for _, o := range operands {
			if o >= 0 {
				fn(o)
			}
		}
	}
	switch i.op {
	case plainSetIndex:
		read(i.a, i.b, i.c)
	case plainForPrep, plainForLoop:
		read(i.a, i.a+1, i.a+2)
	case plainEach, plainEachKey, plainEachArg:
		read(i.b, i.a+2)
	case plainSetList, plainConcat, plainCommand, plainFunctionCall:
		if i.op == plainSetList {
			read(i.a)
		}
		call := &p.calls[i.x]
		read(call.operands...)
		if call.open >= 0 {
			for r := call.open; int(r) < p.registers; r++ {
				fn(r)
			}
		}
	case plainIndex, plainAdd, plainSub, plainMul, plainDiv, plainPow, plainMod,
		plainEqual, plainLess, plainLessEqual:
		read(i.b, i.c)
	case plainMove, plainKeyAt, plainArgAt, plainMinus, plainNot, plainLen, plainForOperand, plainIterate,
		plainTest, plainTestSet, plainToNumber, plainToString, plainMath, plainReturn, plainReturnFirst:
		read(i.b)
	}
}

// compact copies the code without removed instructions and converts operands to
// slots.
func (p *plainCompiler) compact(code []plainInst, used []bool) {
	place := make([]int32, len(code)+1)
	for pc := range code {
		place[pc] = int32(len(p.code))
		i := code[pc]
		if !used[pc] || i.op == plainNop && i.to == 0 {
			continue
		}
		if i.to != 0 && !isBranch(i.op) { // LOADBOOL: the value, then the jump
			jump := i
			i.to = 0
			if i.op != plainNop {
				p.code = append(p.code, i)
			}
			i = jump
			i.op = plainJump
		}
		p.code = append(p.code, i)
	}
	place[len(code)] = int32(len(p.code))
	for n := range p.code {
		i := &p.code[n]
		if isBranch(i.op) {
			i.to, i.alt = place[i.to], place[i.alt]
		}
		p.convertOperands(i)
	}
	p.markBackJumps()
	for n := range p.calls {
		call := &p.calls[n]
		for k := range call.operands {
			call.operands[k] = p.slot(call.operands[k])
		}
		if call.open >= 0 {
			call.open = p.slot(call.open)
		}
	}
}

func isBranch(op plainOp) bool { return (&plainInst{op: op}).branches() }

// markBackJumps turns each backward jump into a plainBack, which counts steps.
func (p *plainCompiler) markBackJumps() {
	for n := range p.code {
		switch op := p.code[n].op; {
		case op == plainJump:
			if p.code[n].to <= int32(n) {
				p.code[n].op = plainBack
			}
		case isBranch(op) && op != plainForLoop && op != plainForPrep:
			p.code[n].to = p.insertBackJump(n, p.code[n].to)
			p.code[n].alt = p.insertBackJump(n, p.code[n].alt)
		}
	}
}

// insertBackJump inserts a jump between a branch and a target before it.
func (p *plainCompiler) insertBackJump(n int, target int32) int32 {
	if target > int32(n) {
		return target
	}
	p.code = append(p.code, plainInst{op: plainBack, to: target, pc: p.code[n].pc})
	return int32(len(p.code) - 1)
}

// slot returns the index of an operand in a frame, where constants come first.
func (p *plainCompiler) slot(operand int32) int32 {
	if operand < 0 {
		return ^operand
	}
	return operand + int32(len(p.constants))
}

func (p *plainCompiler) convertOperands(i *plainInst) {
	operandC := false
	switch i.op {
	case plainIndex, plainSetIndex, plainAdd, plainSub, plainMul, plainDiv, plainPow, plainMod,
		plainEqual, plainLess, plainLessEqual:
		operandC = true
	}
	i.a, i.b = p.slot(i.a), p.slot(i.b)
	if operandC {
		i.c = p.slot(i.c)
	}
}
