package lua

import (
	"math"

	"github.com/zlimit/zlimit/scripting/lua/ast"
)

// expr generates the code of an expression up to its last step.
func (g *generator) expr(e ast.Expr) desc {
	var d desc
	switch e := e.(type) {
	case *ast.NilExpr:
		d = desc{kind: dNil, line: e.Line}
	case *ast.TrueExpr:
		d = desc{kind: dTrue, line: e.Line}
	case *ast.FalseExpr:
		d = desc{kind: dFalse, line: e.Line}
	case *ast.NumberExpr:
		d = desc{kind: dNumber, number: e.Value, line: e.Line}
	case *ast.StringExpr:
		d = desc{kind: dConstant, info: g.constant(String(e.Value)), line: e.Line}
	case *ast.VarargExpr:
		d = desc{kind: dVararg, info: g.emit(instruction{op: opVararg}, e.Line), line: e.Line}
	case *ast.NameExpr:
		d = g.name(e.Name, e.Line)
		if d.kind == dGlobal {
			if bound, ok := g.bound(e.Name, "", e.Line); ok {
				return bound
			}
		}
	case *ast.IndexExpr:
		if bound, ok := g.boundField(e); ok {
			return bound
		}
		if bound, ok := g.boundElement(e); ok {
			return bound
		}
		d = g.index(e)
	case *ast.CallExpr:
		return g.call(e)
	case *ast.MethodExpr:
		return g.method(e)
	case *ast.ParenExpr:
		d = g.expr(e.Inner)
		g.discharge(&d)
		return d
	case *ast.UnaryExpr:
		return g.unary(e)
	case *ast.BinaryExpr:
		return g.binary(e)
	case *ast.TableExpr:
		return g.table(e)
	case *ast.FunctionExpr:
		return g.function(e)
	}
	return d.noJumps()
}

// assigned generates the object and key of an assignment's target.
func (g *generator) assigned(e ast.Expr) desc {
	if name, ok := e.(*ast.NameExpr); ok {
		return g.name(name.Name, name.Line).noJumps()
	}
	return g.index(e.(*ast.IndexExpr)).noJumps()
}

// boundField returns the description of a library's function, if e is one.
func (g *generator) boundField(e *ast.IndexExpr) (desc, bool) {
	library, ok := e.Object.(*ast.NameExpr)
	key, constant := e.Key.(*ast.StringExpr)
	if !ok || !constant || !library.Global {
		return desc{}, false
	}
	return g.bound(library.Name, key.Value, e.Line)
}

func (g *generator) name(name string, line int) desc {
	if reg := g.local(name); reg >= 0 {
		return desc{kind: dLocal, info: reg, line: line}
	}
	if i := g.upvalue(name); i >= 0 {
		return desc{kind: dUpvalue, info: i, line: line}
	}
	return desc{kind: dGlobal, info: g.constant(String(name)), line: line}
}

func (g *generator) index(e *ast.IndexExpr) desc {
	object := g.expr(e.Object)
	g.toAnyRegister(&object)
	key := g.expr(e.Key)
	g.toValue(&key)
	d := desc{kind: dIndexed, info: object.info, line: e.Line}
	if key.isNumeral() {
		if n := int32(key.number); float64(n) == key.number && n > 0 {
			d.kind, d.key = dIndexedInt, int(n)
			return d
		}
	}
	d.key = g.toOperand(&key)
	return d
}

func (g *generator) call(e *ast.CallExpr) desc {
	fn := g.expr(e.Function)
	if g.isDirect(&fn, e.Args) {
		return g.direct(&fn, e.Args[0], e.Line)
	}
	if g.isSite(&fn, e.Args) {
		return g.site(&fn, e.Args, e.Line)
	}
	g.toNextRegister(&fn)
	return g.args(fn.info, e.Args, e.Line)
}

func (g *generator) method(e *ast.MethodExpr) desc {
	object := g.expr(e.Receiver)
	g.toAnyRegister(&object)
	g.freeDesc(&object)
	reg := g.free
	g.reserve(2, e.NameLine)
	g.emit(instruction{
		op: opSelf, a: uint8(reg), b: uint8(object.info), x: int32(g.constant(String(e.Name))),
	}, e.NameLine)
	return g.args(reg, e.Args, e.Line)
}

// args generates the arguments after the function in a register, and the call.
func (g *generator) args(fn int, args []ast.Expr, line int) desc {
	last := g.exprList(args)
	count := 0
	if last.isMany() {
		g.wantMany(&last, all)
	} else {
		if last.kind != dVoid {
			g.toNextRegister(&last)
		}
		count = g.free - fn
	}
	pc := g.emitReg(opCall, fn, count, 2, line)
	g.free = fn + 1
	return desc{kind: dCall, info: pc, line: line}.noJumps()
}

// exprList generates expressions into registers, except the last, which it
// returns: void if there is none.
func (g *generator) exprList(list []ast.Expr) desc {
	last := desc{kind: dVoid}.noJumps()
	for i, e := range list {
		if i > 0 {
			g.toNextRegister(&last)
		}
		last = g.expr(e)
	}
	return last
}

func (g *generator) unary(e *ast.UnaryExpr) desc {
	d := g.expr(e.Operand)
	if e.Op == ast.Not {
		g.not(&d, e.Line)
		return d
	}
	op := opLen
	if e.Op == ast.Minus {
		op = opUnm
		if d.isNumeral() {
			d.number = -d.number
			return d
		}
	}
	reg := g.toAnyRegister(&d)
	g.freeDesc(&d)
	return desc{kind: dRelocatable, info: g.emitReg(op, 0, reg, 0, e.Line), line: e.Line}.noJumps()
}

func (g *generator) not(d *desc, line int) {
	g.discharge(d)
	switch d.kind {
	case dNil, dFalse:
		d.kind = dTrue
	case dConstant, dNumber, dTrue:
		d.kind = dFalse
	case dJump:
		g.invert(d)
	default:
		g.toAnyRegisterPlain(d)
		g.freeDesc(d)
		d.info = g.emitReg(opNot, 0, d.info, 0, line)
		d.kind = dRelocatable
	}
	d.ifTrue, d.ifFalse = d.ifFalse, d.ifTrue
	g.dropValues(d.ifTrue)
	g.dropValues(d.ifFalse)
}

func (g *generator) binary(e *ast.BinaryExpr) desc {
	left := g.expr(e.Left)
	switch {
	case e.Op == ast.And:
		g.goIfTrue(&left)
		right := g.expr(e.Right)
		g.discharge(&right)
		right.ifFalse = g.concat(right.ifFalse, left.ifFalse)
		return right
	case e.Op == ast.Or:
		g.goIfFalse(&left)
		right := g.expr(e.Right)
		g.discharge(&right)
		right.ifTrue = g.concat(right.ifTrue, left.ifTrue)
		return right
	case e.Op == ast.Concat:
		g.toNextRegister(&left)
		right := g.expr(e.Right)
		return g.concatenation(&left, &right, e.Line)
	case e.Op < ast.Concat:
		if !left.isNumeral() {
			g.toOperand(&left)
		}
		right := g.expr(e.Right)
		return g.arithmetic(e.Op, &left, &right, e.Line)
	}
	g.toOperand(&left)
	right := g.expr(e.Right)
	return g.comparison(e.Op, &left, &right, e.Line)
}

// concatenation joins from the right: a..b..c is one instruction.
func (g *generator) concatenation(left, right *desc, line int) desc {
	g.toValue(right)
	if right.kind == dRelocatable && g.proto.code[right.info].op == opConcat {
		g.freeDesc(left)
		g.proto.code[right.info].b = uint8(left.info)
		return *right
	}
	g.toNextRegister(right)
	g.freeDesc(right)
	g.freeDesc(left)
	pc := g.emitReg(opConcat, 0, left.info, right.info, line)
	return desc{kind: dRelocatable, info: pc, line: line}.noJumps()
}

func (g *generator) arithmetic(op ast.Op, left, right *desc, line int) desc {
	if left.isNumeral() && right.isNumeral() {
		if f, ok := fold(op, left.number, right.number); ok {
			left.number = f
			return *left
		}
	}
	c := g.toOperand(right)
	b := g.toOperand(left)
	if b&c&constantFlag != 0 {
		b = g.constantInRegister(left)
	}
	g.freeDesc(right)
	g.freeDesc(left)
	i := instruction{op: opAdd + opcode(op), b: uint8(b), c: uint8(c)}
	switch {
	case c&constantFlag != 0:
		i.op, i.c, i.x = opAddK+opcode(op), 0, int32(c&^constantFlag)
	case b&constantFlag != 0:
		i.op, i.b, i.x = opKAdd+opcode(op), 0, int32(b&^constantFlag)
	}
	return desc{kind: dRelocatable, info: g.emit(i, line), line: line}.noJumps()
}

func (g *generator) constantInRegister(d *desc) int {
	g.toNextRegister(d)
	return d.info
}

// fold computes an operation on constants unless its result would be lost.
func fold(op ast.Op, a, b float64) (f float64, ok bool) {
	if (op == ast.Div || op == ast.Mod) && b == 0 {
		return 0, false
	}
	f = compute(eventAdd+event(op), a, b)
	return f, !math.IsNaN(f)
}

func (g *generator) comparison(op ast.Op, left, right *desc, line int) desc {
	b, c := g.toOperand(left), g.toOperand(right)
	if b&c&constantFlag != 0 {
		b = g.constantInRegister(left)
	}
	g.freeDesc(right)
	g.freeDesc(left)
	i := instruction{a: 1}
	var ops [3]opcode // of two registers, of a constant on the right, and on the left
	switch op {
	case ast.NotEqual, ast.Equal:
		ops = [3]opcode{opEqual, opEqualK, opEqualK}
		if op == ast.NotEqual {
			i.a = 0
		}
		if b&constantFlag != 0 {
			b, c = c, b
		}
	case ast.Greater, ast.GreaterEqual:
		b, c = c, b
	}
	switch op {
	case ast.Less, ast.Greater:
		ops = [3]opcode{opLess, opLessK, opKLess}
	case ast.LessEqual, ast.GreaterEqual:
		ops = [3]opcode{opLessEqual, opLessEqualK, opKLessEqual}
	}
	i.op, i.b, i.c = ops[0], uint8(b), uint8(c)
	switch {
	case c&constantFlag != 0:
		i.op, i.c, i.x = ops[1], 0, int32(c&^constantFlag)
	case b&constantFlag != 0:
		i.op, i.b, i.x = ops[2], 0, int32(b&^constantFlag)
	}
	return desc{kind: dJump, info: int(g.testJump(i, line)), line: line}.noJumps()
}

// fieldsPerFlush is how many elements of a constructor are in registers before
// they are stored.
const fieldsPerFlush = 50

func (g *generator) table(e *ast.TableExpr) desc {
	pc := g.emit(instruction{op: opNewTable}, e.Line)
	t := desc{kind: dRelocatable, info: pc, line: e.Line}.noJumps()
	g.toNextRegister(&t)
	elements, fields, stored := 0, 0, 0
	pending := desc{kind: dVoid}.noJumps()
	flush := func() {
		if pending.kind != dVoid {
			g.toNextRegister(&pending)
			pending.kind = dVoid
			if elements-stored == fieldsPerFlush {
				g.setList(t.info, stored, elements-stored, e.Line)
				stored = elements
			}
		}
	}
	for i := range e.Fields {
		f := &e.Fields[i]
		flush()
		if f.Key != nil {
			fields++
			g.keyedField(&t, f)
			continue
		}
		pending = g.expr(f.Value)
		elements++
	}
	if pending.isMany() {
		g.wantMany(&pending, all)
		g.setList(t.info, stored, all, e.Line)
		elements--
	} else if elements > stored {
		if pending.kind != dVoid {
			g.toNextRegister(&pending)
		}
		g.setList(t.info, stored, elements-stored, e.Line)
	}
	i := &g.proto.code[pc]
	fields = roundSize(min(fields, math.MaxUint16))
	i.x, i.b, i.c = int32(roundSize(elements)), uint8(fields>>8), uint8(fields)
	return t
}

func (g *generator) keyedField(t *desc, f *ast.Field) {
	before := g.free
	key := g.expr(f.Key)
	target := desc{kind: dIndexed, info: t.info, key: g.toOperand(&key), line: f.Line}
	value := g.expr(f.Value)
	reg := g.toAnyRegister(&value)
	g.setField(&target, reg, f.Line)
	g.free = before
}

// setList stores n elements, or those up to the top, from the one after stored
// on.
func (g *generator) setList(t, stored, n, line int) {
	g.emit(instruction{op: opSetList, a: uint8(t), b: uint8(n + 1), x: int32(stored)}, line)
	g.free = t + 1
}

// roundSize rounds the size of a part of a table up as C Lua's instruction does,
// which keeps three bits and an exponent.
func roundSize(n int) int {
	shift := 0
	for n >= 16 {
		n = (n + 1) >> 1
		shift++
	}
	return n << shift
}
