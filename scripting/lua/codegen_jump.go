package lua

// A jumpList is a list of jumps with a common target that is not known yet. It
// is the place of the last one; each has in x the place of the one before.
type jumpList int

const noJump jumpList = -1

// noRegister takes the place of a register.
const noRegister = 255

// jump emits a jump whose target is still open, and returns the list of it and
// of the jumps to here.
func (g *generator) jump(line int) jumpList {
	pending := g.pending
	g.pending = noJump
	list := jumpList(g.emit(instruction{op: opJump, x: int32(noJump)}, line))
	return g.concat(list, pending)
}

func (g *generator) nextJump(at jumpList) jumpList { return jumpList(g.proto.code[at].x) }

// concat returns a list with the jumps of two. It takes time for the first.
func (g *generator) concat(list, other jumpList) jumpList {
	switch {
	case other == noJump:
		return list
	case list == noJump:
		return other
	}
	last := list
	for g.nextJump(last) != noJump {
		last = g.nextJump(last)
	}
	g.proto.code[last].x = int32(other)
	return list
}

// setTarget closes a jump or a loop.
func (g *generator) setTarget(at, to int) {
	i := &g.proto.code[at]
	i.x = int32(to - (at + 1))
	if i.op == opJump && i.x < 0 {
		i.op = opJumpBack
	}
}

// label marks the next instruction as the target of a jump.
func (g *generator) label() int {
	g.target = g.pc()
	return g.target
}

func (g *generator) patchToHere(list jumpList) {
	g.label()
	g.pending = g.concat(g.pending, list)
}

func (g *generator) patchTo(list jumpList, to int) {
	if to == g.pc() {
		g.patchToHere(list)
		return
	}
	g.patch(list, to, noRegister, to)
}

// patch lets the jumps of a list that set a value set reg and go to withValue,
// and the others go to without.
func (g *generator) patch(list jumpList, withValue, reg, without int) {
	for list != noJump {
		next := g.nextJump(list)
		if g.setTestRegister(list, reg) {
			g.setTarget(int(list), withValue)
		} else {
			g.setTarget(int(list), without)
		}
		list = next
	}
}

// control returns the test that decides about a jump, or the jump.
func (g *generator) control(at jumpList) *instruction {
	if at > 0 {
		switch i := &g.proto.code[at-1]; i.op {
		case opEqual, opEqualK, opLess, opLessK, opKLess, opLessEqual, opLessEqualK, opKLessEqual,
			opTest, opTestSet, opTForLoop:
			return i
		}
	}
	return &g.proto.code[at]
}

// setTestRegister gives the test of a jump the register that it sets, and
// reports whether it sets one.
func (g *generator) setTestRegister(at jumpList, reg int) bool {
	i := g.control(at)
	if i.op != opTestSet {
		return false
	}
	if reg != noRegister && reg != int(i.b) {
		i.a = uint8(reg)
	} else {
		i.op, i.a = opTest, 0
	}
	return true
}

// needsValue reports whether one of the jumps does not set a value.
func (g *generator) needsValue(list jumpList) bool {
	for ; list != noJump; list = g.nextJump(list) {
		if g.control(list).op != opTestSet {
			return true
		}
	}
	return false
}

// dropValues makes the tests of a list set nothing.
func (g *generator) dropValues(list jumpList) {
	for ; list != noJump; list = g.nextJump(list) {
		g.setTestRegister(list, noRegister)
	}
}

// testJump emits a test with its jump.
func (g *generator) testJump(i instruction, line int) jumpList {
	g.emit(i, line)
	return g.jump(line)
}

// jumpIf emits a jump that is taken if a value counts as cond.
func (g *generator) jumpIf(d *desc, cond bool) jumpList {
	flag := uint8(0)
	if cond {
		flag = 1
	}
	if d.kind == dRelocatable {
		if i := g.proto.code[d.info]; i.op == opNot {
			g.proto.code = g.proto.code[:d.info]
			g.proto.lines = g.proto.lines[:d.info]
			return g.testJump(instruction{op: opTest, b: i.b, c: 1 - flag}, d.line)
		}
	}
	g.toAnyRegisterPlain(d)
	g.freeDesc(d)
	return g.testJump(instruction{op: opTestSet, a: noRegister, b: uint8(d.info), c: flag}, d.line)
}

// goIfTrue emits the jumps that leave if d is false.
func (g *generator) goIfTrue(d *desc) {
	g.discharge(d)
	list := noJump
	switch d.kind {
	case dConstant, dNumber, dTrue:
	case dJump:
		g.invert(d)
		list = jumpList(d.info)
	default:
		list = g.jumpIf(d, false)
	}
	d.ifFalse = g.concat(list, d.ifFalse)
	g.patchToHere(d.ifTrue)
	d.ifTrue = noJump
}

// goIfFalse emits the jumps that leave if d is true.
func (g *generator) goIfFalse(d *desc) {
	g.discharge(d)
	list := noJump
	switch d.kind {
	case dNil, dFalse:
	case dJump:
		list = jumpList(d.info)
	default:
		list = g.jumpIf(d, true)
	}
	d.ifTrue = g.concat(list, d.ifTrue)
	g.patchToHere(d.ifFalse)
	d.ifFalse = noJump
}

func (g *generator) invert(d *desc) {
	i := g.control(jumpList(d.info))
	i.a ^= 1
}
