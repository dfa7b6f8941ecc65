package scripting

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Instruction fields, as gopher-lua lays them out.
func opCode(inst uint32) int { return int(inst >> 26) }
func opA(inst uint32) int    { return int(inst>>18) & 0xff }
func opB(inst uint32) int    { return int(inst & 0x1ff) }
func opC(inst uint32) int    { return int(inst>>9) & 0x1ff }
func opBx(inst uint32) int   { return int(inst & 0x3ffff) }
func opSbx(inst uint32) int  { return int(inst&0x3ffff) - 0x1ffff }

// A constant operand carries this bit.
const constantBit = 0x100

// describeError turns an error text of the virtual machine into Lua 5.1's,
// which names the variable involved. It derives the name from the failed
// instruction and the source of its operands.
func (in *interp) describeError(L *lua.LState, vmText string) string {
	f, ok := in.stackAt(L, 0)
	switch {
	case strings.HasSuffix(vmText, "stack overflow"), strings.HasSuffix(vmText, "registry overflow"):
		in.unusable = true // the stacks have grown
		if ok && f.fn.IsG {
			f, _ = in.stackAt(L, 1)
		}
		return f.where() + "stack overflow"
	case !ok || f.fn == nil || f.fn.IsG:
		if i := strings.Index(vmText, "attempt to"); i >= 0 {
			vmText = vmText[i:]
		}
		return in.where(L, 1) + vmText
	}
	return f.where() + in.instructionError(L, &f, vmText)
}

func (in *interp) instructionError(L *lua.LState, f *frame, vmText string) string {
	inst := f.fn.Proto.Code[f.pc]
	switch op := opCode(inst); op {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
		if strings.Contains(vmText, "too many recursions") {
			return "loop in gettable"
		}
		return in.indexError(L, f, opB(inst), vmText)
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
		switch {
		case strings.HasSuffix(vmText, "table index is nil"):
			return "table index is nil"
		case strings.HasSuffix(vmText, "table index is NaN"):
			return "table index is NaN"
		case strings.Contains(vmText, "too many recursions"):
			return "loop in settable"
		}
		return in.indexError(L, f, opA(inst), vmText)
	case lua.OP_CALL, lua.OP_TAILCALL:
		return in.typeError(L, f, opA(inst), "call")
	case lua.OP_TFORLOOP:
		return "attempt to call a " + typeName(operand(L, f, opA(inst))) + " value"
	case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_MOD, lua.OP_POW:
		return in.arithError(L, f, opB(inst), opC(inst))
	case lua.OP_UNM:
		return in.typeError(L, f, opB(inst), "perform arithmetic on")
	case lua.OP_LEN:
		return in.typeError(L, f, opB(inst), "get length of")
	case lua.OP_LT, lua.OP_LE:
		return compareError(operand(L, f, opB(inst)), operand(L, f, opC(inst)))
	}
	return vmText
}

func (in *interp) arithError(L *lua.LState, f *frame, b, c int) string {
	if _, ok := asNumber(operand(L, f, b)); ok {
		b = c
	}
	return in.typeError(L, f, b, "perform arithmetic on")
}

func (in *interp) typeError(L *lua.LState, f *frame, reg int, what string) string {
	return "attempt to " + what + " " + describe(f.fn.Proto, f.pc, reg, typeName(operand(L, f, reg)))
}

// describe names the value in a register or constant of an instruction, as far
// as Lua would know the name.
func describe(p *lua.FunctionProto, pc, reg int, kind string) string {
	if reg&constantBit == 0 {
		if nameKind, name := variable(p, pc, reg); nameKind != "" {
			return nameKind + " '" + name + "' (a " + kind + " value)"
		}
	}
	return "a " + kind + " value"
}

// indexError describes the indexed value, or the __index that it led to.
func (in *interp) indexError(L *lua.LState, f *frame, reg int, vmText string) string {
	if operand(L, f, reg).Type() == lua.LTTable {
		_, kind, _ := strings.Cut(vmText, "non-table object(")
		kind, _, _ = strings.Cut(kind, ")")
		return "attempt to index a " + kind + " value"
	}
	return in.typeError(L, f, reg, "index")
}

func compareError(a, b lua.LValue) string { return compareTypes(typeName(a), typeName(b)) }

// compareTypes returns Lua's error for two types that have no order. Lua
// decides by their third letters whether they are the same.
func compareTypes(x, y string) string {
	if x[2] == y[2] {
		return "attempt to compare two " + x + " values"
	}
	return "attempt to compare " + x + " with " + y
}

func operand(L *lua.LState, f *frame, reg int) lua.LValue {
	if reg&constantBit != 0 {
		if i := reg &^ constantBit; i < len(f.fn.Proto.Constants) {
			return f.fn.Proto.Constants[i]
		}
		return lua.LNil
	}
	if _, v := L.GetLocal(f.dbg, reg+1); v != nil {
		return v
	}
	return lua.LNil
}

func typeName(v lua.LValue) string {
	if v == nil {
		return "nil"
	}
	return v.Type().String()
}

// variable returns what a register holds at an instruction: a local, global,
// field, upvalue or method, and its name. Both are empty where Lua knows
// neither.
func variable(p *lua.FunctionProto, pc, reg int) (nameKind, name string) {
	if name, ok := localName(p, reg, pc); ok && !strings.HasPrefix(name, "(") {
		return "local", name
	}
	at := lastSetter(p, pc, reg)
	if at < 0 {
		return "", ""
	}
	inst := p.Code[at]
	switch opCode(inst) {
	case lua.OP_GETGLOBAL:
		name := constantString(p, opBx(inst))
		if strings.HasPrefix(name, "(") {
			return "", ""
		}
		if _, field, ok := splitBoundName(name); ok {
			return "field", field
		}
		return "global", name
	case lua.OP_MOVE, lua.OP_MOVEN:
		if opB(inst) < opA(inst) {
			return variable(p, at, opB(inst))
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return "field", operandString(p, opC(inst))
	case lua.OP_GETUPVAL:
		if i := opB(inst); i < len(p.DbgUpvalues) {
			return "upvalue", p.DbgUpvalues[i]
		}
	case lua.OP_SELF:
		return "method", operandString(p, opC(inst))
	}
	return "", ""
}

// localName returns the name of the local in a register at pc. Locals are
// listed in register order.
func localName(p *lua.FunctionProto, reg, pc int) (string, bool) {
	if pc >= len(p.DbgSourcePositions) {
		return "", false
	}
	token := tokenOf(p.DbgSourcePositions[pc])
	for _, local := range p.DbgLocals {
		if local.StartPc <= token && token < local.EndPc {
			if reg == 0 {
				return local.Name, true
			}
			reg--
		}
	}
	return "", false
}

func constantString(p *lua.FunctionProto, i int) string {
	if i < len(p.Constants) {
		if s, ok := p.Constants[i].(lua.LString); ok {
			return string(s)
		}
	}
	return "?"
}

func operandString(p *lua.FunctionProto, rk int) string {
	if rk&constantBit == 0 {
		return "?"
	}
	return constantString(p, rk&^constantBit)
}

// lastSetter returns the last instruction before pc that wrote a register, or
// -1. It follows forward jumps, as Lua's symbolic execution does.
func lastSetter(p *lua.FunctionProto, pc, reg int) int {
	last := -1
	for i := 0; i < pc && i < len(p.Code); i++ {
		inst := p.Code[i]
		a := opA(inst)
		switch opCode(inst) {
		case lua.OP_LOADNIL:
			if a <= reg && reg <= opB(inst) {
				last = i
			}
		case lua.OP_CALL, lua.OP_TAILCALL:
			if reg >= a {
				last = i
			}
		case lua.OP_TFORLOOP:
			if reg >= a+2 {
				last = i
			}
		case lua.OP_SELF:
			if reg == a || reg == a+1 {
				last = i
			}
		case lua.OP_VARARG:
			if reg >= a {
				last = i
			}
		case lua.OP_JMP:
			if to := i + 1 + opSbx(inst); i < to && to <= pc {
				i = to - 1
			}
		case lua.OP_SETLIST:
			if opC(inst) == 0 {
				i++ // its next word is data
			}
		case lua.OP_CLOSURE:
			if reg == a {
				last = i
			}
			i += int(p.FunctionPrototypes[opBx(inst)].NumUpvalues)
		case lua.OP_SETGLOBAL, lua.OP_SETUPVAL, lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_EQ, lua.OP_LT,
			lua.OP_LE, lua.OP_TEST, lua.OP_RETURN, lua.OP_CLOSE, lua.OP_NOP:
		default:
			if reg == a {
				last = i
			}
		}
	}
	return last
}
