package lua

import (
	"fmt"
	"math"

	"github.com/zlimit/zlimit/scripting/lua/ast"
	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// maxRegisters is how many registers a function may use, as MAXSTACK of C Lua.
const maxRegisters = 250

// A generator makes the code of one function. It allocates registers as C Lua
// does: locals in the order of declaration, temporaries above them as on a
// stack. Errors in the machine name variables by that order.
type generator struct {
	parent    *generator
	source    string
	bindings  *Bindings // nil if globals can change
	proto     *Proto
	constants map[constantKey]int
	strings   map[string]Value // of the chunk: equal ones are the same, which tables find faster
	active    []int            // the locals in scope, as indices of proto.locals; the nth is in register n
	block     *blockScope
	free      int      // the first free register
	pending   jumpList // jumps to the next instruction
	target    int      // the last jump target; see loadNil
}

type constantKey struct {
	kind Kind
	bits uint64
	text string
}

// A blockScope is a block being generated.
type blockScope struct {
	outer    *blockScope
	breaks   jumpList
	locals   int // in scope outside
	loop     bool
	captured bool // a closure uses a local
}

// Compile generates the code of a chunk. syntax.ShortSource(source) is at the start of error texts.
// b may be nil.
func Compile(c *ast.Chunk, source string, b *Bindings) (p *Proto, err error) {
	defer syntax.Recover(&err)
	g := newGenerator(nil, source, 0)
	g.bindings, g.strings = b, make(map[string]Value)
	g.proto.vararg = true
	g.stmts(c.Body)
	g.emit(instruction{op: opReturn, b: 1}, 0)
	return g.finish(), nil
}

func newGenerator(parent *generator, source string, line int) *generator {
	return &generator{
		parent: parent, source: source, constants: make(map[constantKey]int),
		proto:   &Proto{Source: source, LineDefined: line, registers: 2},
		pending: noJump, target: -1,
	}
}

// finish ends the function whose last instruction has been generated.
func (g *generator) finish() *Proto {
	g.removeLocals(0)
	return g.proto
}

// function generates the code of an inner function, which a closure
// instruction refers to.
func (g *generator) function(e *ast.FunctionExpr) desc {
	inner := newGenerator(g, g.source, e.Line)
	inner.bindings, inner.strings = g.bindings, g.strings
	p := inner.proto
	p.params, p.vararg, p.usesArg = len(e.Params), e.Vararg, e.Vararg && !e.UsesVararg
	inner.declare(e.Params...)
	if e.Vararg {
		inner.declare("arg")
	}
	inner.reserve(len(inner.active), e.Line)
	inner.stmts(e.Body)
	inner.emit(instruction{op: opReturn, b: 1}, e.EndLine)
	g.proto.protos = append(g.proto.protos, inner.finish())
	pc := g.emit(instruction{op: opClosure, x: int32(len(g.proto.protos) - 1)}, e.EndLine)
	return desc{kind: dRelocatable, info: pc, line: e.EndLine}.noJumps()
}

func (g *generator) fail(line int, text string) {
	panic(&syntax.Error{Text: fmt.Sprintf("%s:%d: %s", syntax.ShortSource(g.source), line, text)})
}

func (g *generator) pc() int { return len(g.proto.code) }

// emit appends an instruction.
func (g *generator) emit(i instruction, line int) int {
	list := g.pending
	g.pending = noJump
	g.patch(list, g.pc(), noRegister, g.pc())
	g.proto.code = append(g.proto.code, i)
	g.proto.lines = append(g.proto.lines, int32(line))
	return g.pc() - 1
}

func (g *generator) emitReg(op opcode, a, b, c, line int) int {
	return g.emit(instruction{op: op, a: uint8(a), b: uint8(b), c: uint8(c)}, line)
}

// reserve takes n free registers.
func (g *generator) reserve(n, line int) {
	g.free += n
	if g.free > g.proto.registers {
		if g.free >= maxRegisters {
			g.fail(line, "function or expression too complex")
		}
		g.proto.registers = g.free
	}
}

// release frees a register if it is a temporary.
func (g *generator) release(reg int) {
	if reg >= len(g.active) {
		g.free--
	}
}

func (g *generator) constant(v Value) int {
	key := constantKey{kind: v.kind, bits: v.bits}
	switch {
	case v.kind == KindString:
		key.bits, key.text = 0, v.Str()
	case v.kind == KindNumber && v.Num() == 0:
		key.bits = 0 // as in C Lua, the first zero decides about the sign of all
	}
	if i, ok := g.constants[key]; ok {
		return i
	}
	if v.kind == KindString {
		v = g.shared(v)
	}
	i := len(g.proto.constants)
	g.constants[key] = i
	g.proto.constants = append(g.proto.constants, v)
	return i
}

// shared returns the value that the chunk uses for a string.
func (g *generator) shared(v Value) Value {
	known, ok := g.strings[v.Str()]
	if !ok {
		v.stringHash()
		g.strings[v.Str()] = v
		known = v
	}
	return known
}

// loadNil sets registers to nil. It extends the instruction before if that does
// the same and no jump comes between.
func (g *generator) loadNil(from, n, line int) {
	if g.pc() > g.target && g.pc() > 0 && g.pending == noJump {
		last := &g.proto.code[g.pc()-1]
		if last.op == opLoadNil && int(last.a) <= from && from <= int(last.b)+1 {
			last.b = uint8(max(int(last.b), from+n-1))
			return
		}
	}
	g.emitReg(opLoadNil, from, from+n-1, 0, line)
}

// declare brings locals into scope, in the registers after those in scope.
func (g *generator) declare(names ...string) {
	for _, name := range names {
		g.active = append(g.active, len(g.proto.locals))
		g.proto.locals = append(g.proto.locals, localInfo{name: name, start: g.pc(), end: math.MaxInt})
	}
}

func (g *generator) removeLocals(n int) {
	for _, i := range g.active[n:] {
		g.proto.locals[i].end = g.pc()
	}
	g.active = g.active[:n]
}

func (g *generator) openBlock(loop bool) {
	g.block = &blockScope{outer: g.block, breaks: noJump, locals: len(g.active), loop: loop}
}

func (g *generator) closeBlock() {
	b := g.block
	g.block = b.outer
	g.removeLocals(b.locals)
	if b.captured {
		g.emitReg(opClose, b.locals, 0, 0, 0)
	}
	g.free = len(g.active)
	g.patchToHere(b.breaks)
}

// local returns the register of a local, or -1.
func (g *generator) local(name string) int {
	for reg := len(g.active) - 1; reg >= 0; reg-- {
		if g.proto.locals[g.active[reg]].name == name {
			return reg
		}
	}
	return -1
}

// upvalue returns the index of an upvalue, or -1 if the name is a global.
func (g *generator) upvalue(name string) int {
	if g.parent == nil {
		return -1
	}
	for i := range g.proto.upvalueDesc {
		if g.proto.upvalueDesc[i].name == name {
			return i
		}
	}
	d := upvalueDesc{name: name, local: true, register: g.parent.local(name)}
	if d.register >= 0 {
		g.parent.capture(d.register)
	} else if d.local, d.register = false, g.parent.upvalue(name); d.register < 0 {
		return -1
	}
	g.proto.upvalueDesc = append(g.proto.upvalueDesc, d)
	return len(g.proto.upvalueDesc) - 1
}

// capture notes that a closure uses a local, which must be detached when its
// block ends.
func (g *generator) capture(reg int) {
	b := g.block
	for b != nil && b.locals > reg {
		b = b.outer
	}
	if b != nil {
		b.captured = true
	}
}
