package scripting

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// statement reads a statement and reports whether it must be the last of its
// block.
func (p *parser) statement() (ast.Stmt, bool) {
	line := p.here()
	switch p.tok.kind {
	case tokIf:
		return p.ifStatement(line), false
	case tokWhile:
		p.advance()
		cond := p.expr()
		p.expect(tokDo)
		body := p.scopedBlock(true)
		p.expectMatch(tokEnd, tokWhile, line)
		return p.setLines(&ast.WhileStmt{Condition: cond, Stmts: body}, line), false
	case tokDo:
		p.advance()
		body := p.scopedBlock(false)
		p.expectMatch(tokEnd, tokDo, line)
		return p.setLines(&ast.DoBlockStmt{Stmts: body}, line), false
	case tokFor:
		return p.forStatement(line), false
	case tokRepeat:
		return p.repeatStatement(line), false
	case tokFunction:
		return p.functionStatement(line), false
	case tokLocal:
		p.advance()
		if p.accept(tokFunction) {
			return p.localFunction(line), false
		}
		return p.localStatement(line), false
	case tokReturn:
		p.advance()
		var exprs []ast.Expr
		if !p.blockEnds() && p.tok.kind != ';' {
			exprs = p.exprList()
		}
		return at(&ast.ReturnStmt{Exprs: exprs}, line), true
	case tokBreak:
		p.advance()
		p.checkLoop()
		return at(&ast.BreakStmt{}, line), true
	}
	return p.exprStatement(line), false
}

func (p *parser) setLines(stmt ast.Stmt, line position) ast.Stmt {
	stmt.SetLine(line)
	stmt.SetLastLine(p.lastLine)
	return stmt
}

func (p *parser) checkLoop() {
	for _, s := range p.fn.scopes {
		if s.loop {
			return
		}
	}
	p.syntax("no loop to break")
}

func (p *parser) ifStatement(line position) ast.Stmt {
	first := p.condition(line)
	links := 0
	for cur := first; ; {
		switch p.tok.kind {
		case tokElseif:
			p.countLink(&links, maxBranches)
			next := p.condition(p.here())
			cur.Else = []ast.Stmt{next}
			cur = next
			continue
		case tokElse:
			p.advance()
			cur.Else = p.scopedBlock(false)
		}
		p.expectMatch(tokEnd, tokIf, line)
		return p.setLines(first, line)
	}
}

func (p *parser) condition(line position) *ast.IfStmt {
	p.advance()
	cond := p.expr()
	p.expect(tokThen)
	return at(&ast.IfStmt{Condition: cond, Then: p.scopedBlock(false)}, line)
}

func (p *parser) repeatStatement(line position) ast.Stmt {
	p.advance()
	p.openScope(true)
	p.openScope(false)
	body := p.block()
	p.expectMatch(tokUntil, tokRepeat, line)
	cond := p.expr() // the body's locals are in scope
	p.closeScope()
	p.closeScope()
	return p.setLines(&ast.RepeatStmt{Condition: cond, Stmts: body}, line)
}

func (p *parser) forStatement(line position) ast.Stmt {
	p.advance()
	p.openScope(true)
	name := p.expectName()
	var stmt ast.Stmt
	switch p.tok.kind {
	case '=':
		stmt = p.numericFor(name)
	case ',', tokIn:
		stmt = p.genericFor(name)
	default:
		p.syntax("'=' or 'in' expected")
	}
	p.expectMatch(tokEnd, tokFor, line)
	p.closeScope()
	return p.setLines(stmt, line)
}

func (p *parser) numericFor(name string) ast.Stmt {
	p.advance()
	stmt := &ast.NumberForStmt{Name: name}
	stmt.Init = p.expr()
	p.expect(',')
	stmt.Limit = p.expr()
	if p.accept(',') {
		stmt.Step = p.expr()
	}
	line := p.here()
	p.expect(tokDo)
	stmt.Init = forOperand(stmt.Init, hiddenForInit, line)
	stmt.Limit = forOperand(stmt.Limit, hiddenForLimit, line)
	if stmt.Step != nil {
		stmt.Step = forOperand(stmt.Step, hiddenForStep, line)
	}
	p.declare("(for index)", "(for limit)", "(for step)")
	p.openScope(false)
	p.declare(name)
	stmt.Stmts = p.block()
	p.closeScope()
	return stmt
}

// forOperand passes an operand that may not be a number through a hidden
// function, which converts strings as Lua's FORPREP does and gopher-lua's does
// not.
func forOperand(e ast.Expr, converter string, line position) ast.Expr {
	switch e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr:
		return e
	}
	return hiddenCall(converter, line, e)
}

func (p *parser) genericFor(first string) ast.Stmt {
	names := []string{first}
	for p.accept(',') {
		names = append(names, p.expectName())
	}
	p.expect(tokIn)
	exprs := p.exprList()
	p.expect(tokDo)
	p.declare("(for generator)", "(for state)", "(for control)")
	p.openScope(false)
	p.declare(names...)
	stmt := &ast.GenericForStmt{Names: names, Exprs: exprs, Stmts: p.block()}
	p.closeScope()
	return stmt
}

func (p *parser) functionStatement(line position) ast.Stmt {
	p.advance()
	nameLine := p.here()
	name := p.expectName()
	global := p.isGlobal(name)
	var fn ast.Expr = at(&ast.IdentExpr{Value: name}, nameLine)
	if global && p.tok.kind != '.' && p.tok.kind != ':' {
		fn = globalTarget(name, nameLine)
	}
	result := &ast.FuncName{}
	links := 0
	for p.accept('.') {
		p.countLink(&links, maxChain)
		fn = attr(fn, p.here(), p.expectName())
	}
	if p.accept(':') {
		result.Receiver, result.Method = fn, p.expectName()
	} else {
		result.Func = fn
	}
	body := p.body(result.Method != "", line)
	return p.setLines(&ast.FuncDefStmt{Name: result, Func: body}, line)
}

func (p *parser) localFunction(line position) ast.Stmt {
	name := p.expectName()
	p.declare(name)
	body := p.body(false, p.here())
	return p.setLines(&ast.LocalAssignStmt{Names: []string{name}, Exprs: []ast.Expr{body}}, line)
}

func (p *parser) localStatement(line position) ast.Stmt {
	stmt := &ast.LocalAssignStmt{Names: []string{p.expectName()}, Exprs: []ast.Expr{}}
	for p.accept(',') {
		stmt.Names = append(stmt.Names, p.expectName())
	}
	if p.accept('=') {
		stmt.Exprs = p.exprList()
		p.hideOwnName(stmt, line)
	}
	p.declare(stmt.Names...)
	return at(stmt, line)
}

// hideOwnName keeps gopher-lua from treating `local f = function ... end` as
// `local function f`: the function must not see the new f.
func (p *parser) hideOwnName(stmt *ast.LocalAssignStmt, line position) {
	if len(stmt.Names) != 1 || len(stmt.Exprs) != 1 {
		return
	}
	if _, ok := stmt.Exprs[0].(*ast.FunctionExpr); ok {
		stmt.Exprs = append(stmt.Exprs, at(&ast.NilExpr{}, line))
	}
}

func (p *parser) exprStatement(line position) ast.Stmt {
	e := p.primary()
	if call, ok := e.(*ast.FuncCallExpr); ok && e != p.parenthesized {
		return at(&ast.FuncCallStmt{Expr: call}, line)
	}
	targets := []ast.Expr{p.target(e)}
	for p.accept(',') {
		targets = append(targets, p.target(p.primary()))
		p.checkLimit(len(targets)-1, maxLevels-p.levels, "variables in assignment")
	}
	p.expect('=')
	values := p.exprList()
	if len(targets) > 1 || p.needsTemporary(targets[0], values[0]) {
		return p.multiple(targets, values, p.lastLine)
	}
	return at(&ast.AssignStmt{Lhs: targets, Rhs: values}, p.lastLine)
}

// needsTemporary reports whether gopher-lua miscompiles a direct assignment to
// a local: to the last parameter, which holds f before the arguments are
// evaluated in `x = f(x) or 0`, and with `and` and `or`, which leave the local
// unchanged in `x = t[x] and f(x)`.
func (p *parser) needsTemporary(target, value ast.Expr) bool {
	id, ok := target.(*ast.IdentExpr)
	if !ok {
		return false
	}
	if _, ok := value.(*ast.LogicalOpExpr); ok {
		return true
	}
	for i := len(p.fn.locals) - 1; i >= 0; i-- {
		if p.fn.locals[i] == id.Value {
			return i == p.fn.params-1
		}
	}
	return false
}

// multiple assigns the values to temporaries, and these to the targets from the
// right. This is Lua's order; gopher-lua assigns locals while it still
// evaluates other values.
func (p *parser) multiple(targets, values []ast.Expr, line position) ast.Stmt {
	block := &ast.DoBlockStmt{}
	local := func(name string, exprs ...ast.Expr) {
		block.Stmts = append(block.Stmts, at(&ast.LocalAssignStmt{Names: []string{name}, Exprs: exprs}, line))
	}
	var names []string
	for i, target := range targets {
		names = append(names, fmt.Sprintf("(value %d)", i))
		field, ok := target.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		object := fmt.Sprintf("(object %d)", i)
		local(object, field.Object)
		field.Object = at(&ast.IdentExpr{Value: object}, line)
		switch field.Key.(type) {
		case *ast.StringExpr, *ast.NumberExpr:
		default:
			key := fmt.Sprintf("(key %d)", i)
			local(key, field.Key)
			field.Key = at(&ast.IdentExpr{Value: key}, line)
		}
	}
	block.Stmts = append(block.Stmts, at(&ast.LocalAssignStmt{Names: names, Exprs: values}, line))
	for i := len(targets) - 1; i >= 0; i-- {
		value := at(&ast.IdentExpr{Value: names[i]}, line)
		assign := &ast.AssignStmt{Lhs: targets[i : i+1], Rhs: []ast.Expr{value}}
		block.Stmts = append(block.Stmts, at(assign, line))
	}
	return at(block, line)
}

// target checks that e can be assigned to. It turns a global into a field of
// the sealed _G, so that the write fails after the right side was evaluated.
func (p *parser) target(e ast.Expr) ast.Expr {
	if e == p.parenthesized {
		p.syntax("syntax error")
	}
	switch e := e.(type) {
	case *ast.IdentExpr:
		if lib, field, ok := splitBoundName(e.Value); ok {
			return attr(at(&ast.IdentExpr{Value: lib}, e.Line()), e.Line(), field)
		}
		if p.isGlobal(e.Value) {
			return globalTarget(e.Value, e.Line())
		}
		return e
	case *ast.AttrGetExpr:
		return e
	}
	p.syntax("syntax error")
	return nil
}

func globalTarget(name string, line position) ast.Expr {
	return attr(at(&ast.IdentExpr{Value: hiddenGlobals}, line), line, name)
}

func attr(object ast.Expr, line int, key string) ast.Expr {
	return at(&ast.AttrGetExpr{Object: object, Key: at(&ast.StringExpr{Value: key}, line)}, line)
}
