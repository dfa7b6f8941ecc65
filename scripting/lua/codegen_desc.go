package lua

// A desc describes where the value of an expression is, or will be, so that
// code is generated as late as possible and into the register where the value
// is wanted.
type desc struct {
	kind    descKind
	info    int
	key     int // of an indexed value
	number  float64
	ifTrue  jumpList // jumps that leave when the value is true
	ifFalse jumpList
	line    int
}

type descKind uint8

const (
	dVoid        descKind = iota
	dNil                  // and constants
	dTrue                 //
	dFalse                //
	dNumber               // number
	dConstant             // info is its index
	dLocal                // info is its register
	dUpvalue              // info is its index
	dGlobal               // info is the constant with its name
	dBound                // info is the operand of opBound, key whether it is a field
	dIndexed              // info is the object's register, key a register or constant
	dIndexedInt           // the same, key is an integer
	dBoundInt             // info is the index of a binding, key an integer
	dJump                 // info is a jump that is taken if the value is true
	dRelocatable          // info is an instruction whose a is still open
	dRegister             // info is a register
	dCall                 // info is the instruction
	dVararg               // info is the instruction
)

// constantFlag marks a key or operand that is a constant.
const constantFlag = 1 << 24

func (d desc) noJumps() desc {
	d.ifTrue, d.ifFalse = noJump, noJump
	return d
}

func (d *desc) hasJumps() bool { return d.ifTrue != d.ifFalse }

func (d *desc) isMany() bool { return d.kind == dCall || d.kind == dVararg }

func (d *desc) isNumeral() bool {
	return d.kind == dNumber && d.ifTrue == noJump && d.ifFalse == noJump
}

func (g *generator) freeDesc(d *desc) {
	if d.kind == dRegister {
		g.release(d.info)
	}
}

// wantMany sets how many values a call or `...` gives; -1 for all.
func (g *generator) wantMany(d *desc, n int) {
	i := &g.proto.code[d.info]
	switch d.kind {
	case dCall:
		i.c = uint8(n + 1)
	case dVararg:
		i.b = uint8(n + 1)
		i.a = uint8(g.free)
		g.reserve(1, d.line)
	}
}

// wantOne truncates a call or `...` to one value.
func (g *generator) wantOne(d *desc) {
	switch d.kind {
	case dCall:
		d.kind, d.info = dRegister, int(g.proto.code[d.info].a)
	case dVararg:
		g.proto.code[d.info].b = 2
		d.kind = dRelocatable
	}
}

// discharge makes a variable or call a value.
func (g *generator) discharge(d *desc) {
	switch d.kind {
	case dLocal:
		d.kind = dRegister
	case dUpvalue:
		d.info = g.emitReg(opGetUpval, 0, d.info, 0, d.line)
		d.kind = dRelocatable
	case dGlobal:
		d.info = g.emit(instruction{op: opGetGlobal, x: int32(d.info)}, d.line)
		d.kind = dRelocatable
	case dBound:
		d.info = g.emit(instruction{op: opBound, b: uint8(d.key), x: int32(d.info)}, d.line)
		d.kind = dRelocatable
	case dBoundInt:
		d.info = g.emit(instruction{
			op: opBoundInt, b: uint8(d.key >> 8), c: uint8(d.key), x: int32(d.info),
		}, d.line)
		d.kind = dRelocatable
	case dIndexed, dIndexedInt:
		i := instruction{op: opGetTable, b: uint8(d.info)}
		switch {
		case d.kind == dIndexedInt:
			i.op, i.x = opGetInt, int32(d.key)
		case d.key&constantFlag != 0:
			i.op, i.x = opGetField, int32(d.key&^constantFlag)
		default:
			i.c = uint8(d.key)
			g.release(d.key)
		}
		g.release(d.info)
		d.info = g.emit(i, d.line)
		d.kind = dRelocatable
	case dVararg, dCall:
		g.wantOne(d)
	}
}

// toRegisterPlain puts a value without jumps into a register.
func (g *generator) toRegisterPlain(d *desc, reg int) {
	g.discharge(d)
	switch d.kind {
	case dNil:
		g.loadNil(reg, 1, d.line)
	case dTrue:
		g.emitReg(opLoadBool, reg, 1, 0, d.line)
	case dFalse:
		g.emitReg(opLoadBool, reg, 0, 0, d.line)
	case dConstant:
		g.emit(instruction{op: opLoadK, a: uint8(reg), x: int32(d.info)}, d.line)
	case dNumber:
		g.emit(instruction{op: opLoadK, a: uint8(reg), x: int32(g.constant(Number(d.number)))}, d.line)
	case dRelocatable:
		g.proto.code[d.info].a = uint8(reg)
	case dRegister:
		if d.info != reg {
			g.emitReg(opMove, reg, d.info, 0, d.line)
		}
	default:
		return // void, or a jump
	}
	d.kind, d.info = dRegister, reg
}

func (g *generator) toAnyRegisterPlain(d *desc) {
	if d.kind != dRegister {
		g.reserve(1, d.line)
		g.toRegisterPlain(d, g.free-1)
	}
}

// toRegister puts a value into a register.
func (g *generator) toRegister(d *desc, reg int) {
	g.toRegisterPlain(d, reg)
	if d.kind == dJump {
		d.ifTrue = g.concat(d.ifTrue, jumpList(d.info))
	}
	if d.hasJumps() {
		loadFalse, loadTrue := -1, -1
		if g.needsValue(d.ifTrue) || g.needsValue(d.ifFalse) {
			skip := noJump
			if d.kind != dJump {
				skip = g.jump(d.line)
			}
			g.label()
			loadFalse = g.emitReg(opLoadBool, reg, 0, 1, d.line)
			g.label()
			loadTrue = g.emitReg(opLoadBool, reg, 1, 0, d.line)
			g.patchToHere(skip)
		}
		end := g.label()
		g.patch(d.ifFalse, end, reg, loadFalse)
		g.patch(d.ifTrue, end, reg, loadTrue)
	}
	d.ifTrue, d.ifFalse = noJump, noJump
	d.kind, d.info = dRegister, reg
}

// toNextRegister puts a value into the first free register.
func (g *generator) toNextRegister(d *desc) {
	g.discharge(d)
	g.freeDesc(d)
	g.reserve(1, d.line)
	g.toRegister(d, g.free-1)
}

// toAnyRegister returns a register with the value.
func (g *generator) toAnyRegister(d *desc) int {
	g.discharge(d)
	if d.kind == dRegister {
		if !d.hasJumps() {
			return d.info
		}
		if d.info >= len(g.active) { // not a local
			g.toRegister(d, d.info)
			return d.info
		}
	}
	g.toNextRegister(d)
	return d.info
}

func (g *generator) toValue(d *desc) {
	if d.hasJumps() {
		g.toAnyRegister(d)
	} else {
		g.discharge(d)
	}
}

// toOperand returns a register with the value, or a constant with constantFlag.
func (g *generator) toOperand(d *desc) int {
	g.toValue(d)
	switch d.kind {
	case dNumber:
		d.info = g.constant(Number(d.number))
	case dNil:
		d.info = g.constant(Nil)
	case dTrue:
		d.info = g.constant(True)
	case dFalse:
		d.info = g.constant(False)
	case dConstant:
	default:
		return g.toAnyRegister(d)
	}
	d.kind = dConstant
	return d.info | constantFlag
}

// store assigns a value to a variable.
func (g *generator) store(target, d *desc, line int) {
	switch target.kind {
	case dLocal:
		g.freeDesc(d)
		g.toRegister(d, target.info)
		return
	case dUpvalue:
		reg := g.toAnyRegister(d)
		g.emitReg(opSetUpval, reg, target.info, 0, line)
	case dGlobal:
		reg := g.toAnyRegister(d)
		g.emit(instruction{op: opSetGlobal, a: uint8(reg), x: int32(target.info)}, line)
	case dIndexed, dIndexedInt:
		g.setField(target, g.toAnyRegister(d), line)
	}
	g.freeDesc(d)
}

func (g *generator) setField(target *desc, value, line int) {
	i := instruction{op: opSetTable, a: uint8(target.info), c: uint8(value)}
	switch {
	case target.kind == dIndexedInt:
		i.op, i.x = opSetInt, int32(target.key)
	case target.key&constantFlag != 0:
		i.op, i.x = opSetField, int32(target.key&^constantFlag)
	default:
		i.b = uint8(target.key)
	}
	g.emit(i, line)
}
