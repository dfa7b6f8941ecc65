package lua

// An operand is the register whose value an error is about.
type operand int

// anonymous is the operand of a constant or of a value in no register.
const anonymous operand = -1

// typeError raises the error that an operation does not apply to a value, with
// the name of the variable that holds it.
func (L *Thread) typeError(what string, v *Value, from operand) {
	kind := v.TypeName()
	if from >= 0 {
		if f := &L.frames[len(L.frames)-1]; f.fn.proto != nil {
			if nameKind, name := f.fn.proto.variable(f.pc-1, int(from)); nameKind != "" {
				L.runtimeError("attempt to " + what + " " + nameKind + " '" + name + "' (a " + kind +
					" value)")
			}
		}
	}
	L.runtimeError("attempt to " + what + " a " + kind + " value")
}

// callError raises the error about a call of what is at a place of the stack.
func (L *Thread) callError(at int) {
	v := L.stack[at]
	from := anonymous
	if n := len(L.frames); n > 0 {
		if f := &L.frames[n-1]; f.fn.proto != nil && f.pc > 0 {
			i := f.fn.proto.code[f.pc-1]
			if opShapes[i.op] == writesFromA && f.base+int(i.a) == at {
				from = operand(i.a)
			}
		}
	}
	L.typeError("call", &v, from)
}

// calledName returns the name by which the running GoFunction was called.
func (L *Thread) calledName() (kind, name string) {
	f, lost := L.frameAt(1)
	if f == nil || lost || f.fn.proto == nil {
		return "", ""
	}
	i := f.fn.proto.code[f.pc-1]
	switch i.op {
	case opCall, opTailCall, opTForLoop, opDirect, opCallSite:
		return f.fn.proto.variable(f.pc-1, int(i.a))
	}
	return "", ""
}

// variable returns what a register holds at an instruction: a local, global, field, upvalue or method, and
// its name. Both are empty where Lua knows neither.
func (p *Proto) variable(pc, reg int) (kind, name string) {
	if name := p.localName(pc, reg); name != "" {
		return "local", name
	}
	at := p.lastSetter(pc, reg)
	if op := p.code[pc].op; op == opDirect || op == opCallSite {
		at = pc // it has the function's name
	}
	if at < 0 {
		return "", ""
	}
	switch i := &p.code[at]; i.op {
	case opGetGlobal:
		return "global", p.constantName(int(i.x))
	case opMove:
		if i.b < i.a {
			return p.variable(at, int(i.b))
		}
	case opGetTable, opGetInt, opBoundInt:
		return "field", "?"
	case opGetField:
		return "field", p.constantName(int(i.x))
	case opGetUpval:
		return "upvalue", p.upvalueDesc[i.b].name
	case opBound:
		return boundVariable(i.b != 0, p.constantName(int(i.x>>boundBits)))
	case opDirect:
		if at == pc {
			return boundVariable(i.c != 0, p.constantName(int(i.x>>boundBits)))
		}
	case opCallSite:
		if at == pc {
			site := &p.sites[i.x]
			return boundVariable(site.field, site.name)
		}
	case opSelf:
		return "method", p.constantName(int(i.x))
	}
	return "", ""
}

func boundVariable(field bool, name string) (kind, _ string) {
	if field {
		return "field", name
	}
	return "global", name
}

// localName returns the name of the local in a register, or "".
func (p *Proto) localName(pc, reg int) string {
	for i := range p.locals {
		local := &p.locals[i]
		if local.start > pc {
			break
		}
		if pc < local.end {
			if reg == 0 {
				return local.name
			}
			reg--
		}
	}
	return ""
}

func (p *Proto) constantName(i int) string {
	if v := &p.constants[i]; v.kind == KindString {
		return v.Str()
	}
	return "?"
}

// lastSetter returns the last instruction before pc that wrote a register, or
// -1. It follows the jumps that do not go beyond pc.
func (p *Proto) lastSetter(pc, reg int) int {
	last := -1
	for at := 0; at < pc; at++ {
		i := &p.code[at]
		a := int(i.a)
		writes := false
		switch opShapes[i.op] {
		case writesA:
			writes = reg == a
		case writesAToB:
			writes = a <= reg && reg <= int(i.b)
		case writesAAndNext:
			writes = reg == a || reg == a+1
		case writesFromA:
			writes = reg >= a
		case writesB:
			writes = reg == int(i.b)
		case writesFromA2:
			writes = reg >= a+2
		}
		if writes {
			last = at
		}
		if i.op == opJump || i.op == opForPrep {
			if to := at + 1 + int(i.x); at < to && to <= pc {
				at = to - 1
			}
		}
	}
	return last
}
