package lua

import "github.com/zlimit/zlimit/scripting/lua/ast"

func (g *generator) stmts(list []ast.Stmt) {
	for _, s := range list {
		g.stmt(s)
		g.free = len(g.active)
	}
}

func (g *generator) scopedBlock(list []ast.Stmt) {
	g.openBlock(false)
	g.stmts(list)
	g.closeBlock()
}

func (g *generator) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LocalStmt:
		last := g.exprList(s.Values)
		g.adjust(len(s.Names), len(s.Values), &last, s.Line)
		g.declare(s.Names...)
	case *ast.LocalFunctionStmt:
		g.localFunction(s)
	case *ast.FunctionStmt:
		target := g.assigned(s.Target)
		fn := g.function(s.Function)
		g.store(&target, &fn, s.Line)
	case *ast.AssignStmt:
		g.assign(s)
	case *ast.CallStmt:
		d := g.expr(s.Call)
		if d.kind == dCall {
			g.proto.code[d.info].c = 1 // no results
		}
	case *ast.DoStmt:
		g.scopedBlock(s.Body)
	case *ast.WhileStmt:
		g.while(s)
	case *ast.RepeatStmt:
		g.repeat(s)
	case *ast.IfStmt:
		g.ifStmt(s)
	case *ast.NumericForStmt:
		g.numericFor(s)
	case *ast.GenericForStmt:
		g.openBlock(true)
		last := g.exprList(s.Values)
		g.adjust(3, len(s.Values), &last, s.Line)
		g.declare("(for generator)", "(for state)", "(for control)")
		g.forBody(g.jump(s.Line), opTForLoop, s.Names, s.Body, s.Line)
		g.closeBlock()
	case *ast.ReturnStmt:
		g.returnStmt(s)
	case *ast.BreakStmt:
		g.breakStmt(s.Line)
	}
}

// adjust puts the last of some values into its register, and as many values
// after or instead of it as there are variables.
func (g *generator) adjust(variables, values int, last *desc, line int) {
	extra := variables - values
	if last.isMany() {
		extra = max(extra+1, 0) // with the call itself, whose register is taken
		g.wantMany(last, extra)
		if extra > 1 {
			g.reserve(extra-1, line)
		}
		return
	}
	if last.kind != dVoid {
		g.toNextRegister(last)
	}
	if extra > 0 {
		reg := g.free
		g.reserve(extra, line)
		g.loadNil(reg, extra, line)
	}
}

func (g *generator) localFunction(s *ast.LocalFunctionStmt) {
	reg := g.free
	g.declare(s.Name)
	g.reserve(1, s.Line)
	fn := g.function(s.Function)
	g.toRegister(&fn, reg)
	g.proto.locals[g.active[reg]].start = g.pc() // errors do not name it before
}

func (g *generator) assign(s *ast.AssignStmt) {
	if len(s.Targets) == 1 && len(s.Values) == 1 {
		target := g.assigned(s.Targets[0])
		d := g.expr(s.Values[0])
		g.wantOne(&d)
		g.store(&target, &d, s.Line)
		return
	}
	targets := make([]desc, 0, len(s.Targets))
	for _, e := range s.Targets {
		t := g.assigned(e)
		if t.kind == dLocal {
			g.keepOperands(targets, t.info, s.Line)
		}
		targets = append(targets, t)
	}
	last := g.exprList(s.Values)
	n := len(targets)
	if len(s.Values) == n {
		// The last value goes to its target without a temporary.
		g.wantOne(&last)
		n--
		g.store(&targets[n], &last, s.Line)
	} else {
		g.adjust(n, len(s.Values), &last, s.Line)
		if extra := len(s.Values) - n; extra > 0 {
			g.free -= extra // values without a target
		}
	}
	for n--; n >= 0; n-- {
		d := desc{kind: dRegister, info: g.free - 1, line: s.Line}.noJumps()
		g.store(&targets[n], &d, s.Line)
	}
}

// keepOperands copies a local that targets to the left index or are indexed by,
// since the assignment may change it first.
func (g *generator) keepOperands(targets []desc, local, line int) {
	conflict := false
	for i := range targets {
		t := &targets[i]
		if t.kind != dIndexed && t.kind != dIndexedInt {
			continue
		}
		if t.info == local {
			t.info, conflict = g.free, true
		}
		if t.kind == dIndexed && t.key == local {
			t.key, conflict = g.free, true
		}
	}
	if conflict {
		g.emitReg(opMove, g.free, local, 0, line)
		g.reserve(1, line)
	}
}

// condition returns the jumps that leave if a condition is false.
func (g *generator) condition(e ast.Expr) jumpList {
	d := g.expr(e)
	if d.kind == dNil {
		d.kind = dFalse
	}
	g.goIfTrue(&d)
	return d.ifFalse
}

func (g *generator) while(s *ast.WhileStmt) {
	start := g.label()
	exit := g.condition(s.Condition)
	g.openBlock(true)
	g.scopedBlock(s.Body)
	g.patchTo(g.jump(s.Line), start)
	g.closeBlock()
	g.patchToHere(exit)
}

func (g *generator) repeat(s *ast.RepeatStmt) {
	start := g.label()
	g.openBlock(true)
	g.openBlock(false)
	g.stmts(s.Body)
	again := g.condition(s.Condition)
	if !g.block.captured {
		g.closeBlock()
		g.patchTo(again, start)
	} else {
		g.breakStmt(s.Line)
		g.patchToHere(again)
		g.closeBlock()
		g.patchTo(g.jump(s.Line), start)
	}
	g.closeBlock()
}

func (g *generator) breakStmt(line int) {
	b, captured := g.block, false
	for !b.loop {
		captured = captured || b.captured
		b = b.outer
	}
	if captured {
		g.emitReg(opClose, b.locals, 0, 0, line)
	}
	b.breaks = g.concat(g.jump(line), b.breaks)
}

func (g *generator) ifStmt(s *ast.IfStmt) {
	escapes := noJump
	for i := range s.Clauses {
		c := &s.Clauses[i]
		otherwise := g.condition(c.Condition)
		g.scopedBlock(c.Body)
		if i == len(s.Clauses)-1 && s.Else == nil {
			escapes = g.concat(otherwise, escapes)
			break
		}
		escapes = g.concat(g.jump(s.Line), escapes)
		g.patchToHere(otherwise)
	}
	if s.Else != nil {
		g.scopedBlock(s.Else)
	}
	g.patchToHere(escapes)
}

func (g *generator) numericFor(s *ast.NumericForStmt) {
	g.openBlock(true)
	base := g.free
	for _, e := range []ast.Expr{s.Start, s.Limit, s.Step} {
		d := desc{kind: dNumber, number: 1, line: s.DoLine}.noJumps()
		if e != nil {
			d = g.expr(e)
		}
		g.toNextRegister(&d)
	}
	g.declare("(for index)", "(for limit)", "(for step)")
	prepare := g.emit(instruction{op: opForPrep, a: uint8(base), x: int32(noJump)}, s.DoLine)
	g.forBody(jumpList(prepare), opForLoop, []string{s.Name}, s.Body, s.Line)
	g.closeBlock()
}

// forBody generates the body of a loop whose variables are above its three
// internal ones, and the instruction that goes to the next turn.
func (g *generator) forBody(prepare jumpList, op opcode, names []string, body []ast.Stmt, line int) {
	base := g.free - 3
	g.openBlock(false)
	g.declare(names...)
	g.reserve(len(names), line)
	g.stmts(body)
	g.closeBlock()
	g.patchToHere(prepare)
	i := instruction{op: op, a: uint8(base), x: int32(noJump)}
	if op == opTForLoop {
		i.c = uint8(len(names))
		g.emit(i, line)
		g.patchTo(g.jump(line), int(prepare)+1)
		return
	}
	g.patchTo(jumpList(g.emit(i, line)), int(prepare)+1)
}

func (g *generator) returnStmt(s *ast.ReturnStmt) {
	last := g.exprList(s.Values)
	first, n := len(g.active), len(s.Values)
	switch {
	case last.isMany():
		g.wantMany(&last, all)
		if i := &g.proto.code[last.info]; i.op == opCall && n == 1 {
			i.op = opTailCall
		}
		n = all
	case n == 1:
		first = g.toAnyRegister(&last)
	case n > 1:
		g.toNextRegister(&last)
	}
	g.emitReg(opReturn, first, n+1, 0, s.Line)
}
