package scripting

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// A fact is what is known of a register before the script runs.
type fact struct {
	kind factKind
	n    int32
}

type factKind uint8

const (
	unreached  factKind = iota
	anything            // a value; n is notString if that is known
	isConstant          // n is its index
	isCopy              // the value of register n
	isFunction          // n is the index in plainFunctions
	isKeys              // KEYS
	isArgv              // ARGV
	isLibrary           // a library table, as in redis.LOG_DEBUG; n is the constant with its name
	isIterator          // the first result of ipairs (0) and pairs (1)
	mixed               // sometimes a function or KEYS, sometimes not: it must not be read
)

// notString marks a value that is not a string.
const notString = 1

func (k fact) special() bool { return k.kind > isCopy }

// join returns what is known where two paths meet.
func (p *plainCompiler) join(a, b fact) fact {
	switch {
	case a == b || b.kind == unreached:
		return a
	case a.kind == unreached:
		return b
	case a.special() || b.special():
		return fact{kind: mixed}
	case p.isNotString(a) && p.isNotString(b):
		return fact{anything, notString}
	}
	return fact{kind: anything}
}

func (p *plainCompiler) isNotString(k fact) bool {
	return k == fact{anything, notString} || k.kind == isConstant && p.constants[k.n].kind != lua.LTString
}

// A notPlain is the reason why a script is left to the interpreter.
type notPlain string

func failNotPlain(format string, args ...any) { panic(notPlain(fmt.Sprintf(format, args...))) }

// A plainCompiler translates gopher-lua's bytecode. A forward analysis computes
// the facts about the registers up to a fixed point. With them each instruction
// is translated: functions are resolved, and constants and copies used
// directly.
type plainCompiler struct {
	engine *Engine
	proto  *lua.FunctionProto
	plainProgram
	states [][]fact // before each instruction; nil if not reached
	regs   []fact   // of the current instruction
	pc     int
	succ   []successor

	emitting bool // the analysis is done
}

type successor struct {
	pc   int
	regs []fact
}

// constantOperand encodes a constant as an operand; compact turns it into a slot.
func constantOperand(index int32) int32 { return ^index }

func (p *plainCompiler) constantIndex(v plainValue) int32 {
	for i := range p.constants {
		w := &p.constants[i]
		if w.kind == v.kind && (w.bits == v.bits || v.kind == lua.LTString) && w.equals(&v) {
			return int32(i)
		}
	}
	p.constants = append(p.constants, v)
	return int32(len(p.constants) - 1)
}

func (p *plainCompiler) protoConstant(i int) fact {
	v, ok := fromConstant(p.proto.Constants[i])
	if !ok {
		failNotPlain("a constant of another kind")
	}
	return fact{isConstant, p.constantIndex(v)}
}

func (p *plainCompiler) computeFacts() {
	p.states = make([][]fact, len(p.proto.Code)+1)
	entry := make([]fact, p.registers)
	for i := range entry {
		entry[i] = fact{kind: anything}
	}
	p.states[0] = entry
	for work := []int{0}; len(work) > 0; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		p.translate(pc)
		for _, s := range p.succ {
			if p.merge(s) {
				work = append(work, s.pc)
			}
		}
	}
}

// merge adds the facts of one path to an instruction and reports whether they
// changed anything.
func (p *plainCompiler) merge(s successor) bool {
	if s.pc < 0 || s.pc >= len(p.proto.Code) {
		failNotPlain("a jump out of the code")
	}
	old := p.states[s.pc]
	if old == nil {
		p.states[s.pc] = slices.Clone(s.regs)
		return true
	}
	changed := false
	for i := range old {
		if k := p.join(old[i], s.regs[i]); k != old[i] {
			old[i], changed = k, true
		}
	}
	return changed
}

// next adds pc as a successor, with the current facts.
func (p *plainCompiler) next(pc int) {
	p.succ = append(p.succ, successor{pc, slices.Clone(p.regs)})
}

// write records the fact about a new value of a register.
func (p *plainCompiler) write(reg int, k fact) {
	for i := range p.regs {
		if p.regs[i] == (fact{isCopy, int32(reg)}) {
			p.regs[i] = fact{kind: anything}
		}
	}
	p.regs[reg] = k
}

// read returns where the value of a register or constant operand is.
func (p *plainCompiler) read(rk int) int32 {
	if rk&constantBit != 0 {
		return constantOperand(p.protoConstant(rk &^ constantBit).n)
	}
	switch k := p.regs[rk]; k.kind {
	case isConstant:
		return constantOperand(k.n)
	case isCopy:
		return k.n
	case anything:
		return int32(rk)
	default:
		failNotPlain("line %d uses a function or a library as a value", p.line())
		return 0
	}
}

func (p *plainCompiler) constantOf(slot int32) (plainValue, bool) {
	if slot >= 0 {
		return plainNil, false
	}
	return p.constants[^slot], true
}

func (p *plainCompiler) line() int { return lineOf(p.proto.DbgSourcePositions[p.pc]) }
