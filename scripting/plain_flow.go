package scripting

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// A known is what can be said of a register before the script runs.
type known struct {
	shape shape
	n     int32
}

type shape uint8

const (
	unreached   shape = iota
	anything          // a value; n is noString where that is known
	isConstant        // n is which
	isCopy            // the value of register n
	isFunction        // n is which of plainFunctions
	isKeys            // KEYS
	isArgv            // ARGV
	isLibrary         // the table of a library, as the start of redis.LOG_DEBUG; n is the constant with its name
	isIterator        // what ipairs (0) and pairs (1) return first
	unspeakable       // sometimes a function or KEYS, sometimes not: nobody may look at it
)

// noString says of a value that it is no string.
const noString = 1

// special reports whether a register holds what is no plainValue.
func (k known) special() bool { return k.shape > isCopy }

// join is what can be said where two ways meet.
func (p *plainCompiler) join(a, b known) known {
	switch {
	case a == b || b.shape == unreached:
		return a
	case a.shape == unreached:
		return b
	case a.special() || b.special():
		return known{shape: unspeakable}
	case p.isNoString(a) && p.isNoString(b):
		return known{anything, noString}
	}
	return known{shape: anything}
}

func (p *plainCompiler) isNoString(k known) bool {
	return k == known{anything, noString} || k.shape == isConstant && p.constants[k.n].kind != lua.LTString
}

// A leaves is the reason why a script is left to the interpreter.
type leaves string

func leave(format string, args ...any) { panic(leaves(fmt.Sprintf(format, args...))) }

// A plainCompiler reads gopher-lua's bytecode. It follows what is known of the
// registers through every way the script can take (a forward analysis to a
// fixed point), and then translates each instruction with that knowledge:
// functions are resolved, constants and copies are used where they come from.
type plainCompiler struct {
	engine *Engine
	proto  *lua.FunctionProto
	plainProgram
	states [][]known // before each instruction; nil: not reached
	regs   []known   // while an instruction is looked at
	pc     int
	succ   []successor

	emitting bool // the analysis is done
}

type successor struct {
	pc   int
	regs []known
}

// slot makes a constant an operand; finish turns it into a place.
func slot(isConstant int32) int32 { return ^isConstant }

// constantIndex finds or adds a constant.
func (p *plainCompiler) constantIndex(v plainValue) int32 {
	for i := range p.constants {
		if w := &p.constants[i]; w.kind == v.kind && (w.bits == v.bits || v.kind == lua.LTString) && w.equals(&v) {
			return int32(i)
		}
	}
	p.constants = append(p.constants, v)
	return int32(len(p.constants) - 1)
}

func (p *plainCompiler) protoConstant(i int) known {
	v, ok := fromConstant(p.proto.Constants[i])
	if !ok {
		leave("a constant of another kind")
	}
	return known{isConstant, p.constantIndex(v)}
}

// flow finds what is known before each instruction.
func (p *plainCompiler) flow() {
	p.states = make([][]known, len(p.proto.Code)+1)
	entry := make([]known, p.registers)
	for i := range entry {
		entry[i] = known{shape: anything}
	}
	p.states[0] = entry
	for work := []int{0}; len(work) > 0; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		p.translate(pc)
		for _, s := range p.succ {
			if p.meet(s) {
				work = append(work, s.pc)
			}
		}
	}
}

// meet adds what one way brings to an instruction, and reports whether that
// was news.
func (p *plainCompiler) meet(s successor) bool {
	if s.pc < 0 || s.pc >= len(p.proto.Code) {
		leave("a jump out of the code")
	}
	old := p.states[s.pc]
	if old == nil {
		p.states[s.pc] = slices.Clone(s.regs)
		return true
	}
	news := false
	for i := range old {
		if k := p.join(old[i], s.regs[i]); k != old[i] {
			old[i], news = k, true
		}
	}
	return news
}

// next says that the instruction at pc may follow, with the registers as they
// are now.
func (p *plainCompiler) next(pc int) {
	p.succ = append(p.succ, successor{pc, slices.Clone(p.regs)})
}

// write says that a register has a new value.
func (p *plainCompiler) write(reg int, k known) {
	for i := range p.regs {
		if p.regs[i] == (known{isCopy, int32(reg)}) {
			p.regs[i] = known{shape: anything}
		}
	}
	p.regs[reg] = k
}

// read returns where the value of a register or constant operand is.
func (p *plainCompiler) read(rk int) int32 {
	if rk&constantBit != 0 {
		return slot(p.protoConstant(rk &^ constantBit).n)
	}
	switch k := p.regs[rk]; k.shape {
	case isConstant:
		return slot(k.n)
	case isCopy:
		return k.n
	case anything:
		return int32(rk)
	default:
		leave("line %d uses a function or a library as a value", p.line())
		return 0
	}
}

// constantOf returns the value of an operand that is one.
func (p *plainCompiler) constantOf(slot int32) (plainValue, bool) {
	if slot >= 0 {
		return plainNil, false
	}
	return p.constants[^slot], true
}

func (p *plainCompiler) line() int { return lineOf(p.proto.DbgSourcePositions[p.pc]) }
