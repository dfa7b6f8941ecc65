package syntax

import (
	"slices"

	"github.com/zlimit/zlimit/scripting/lua/ast"
)

// statement reads a statement and reports whether it must be the last of its block.
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
		return &ast.WhileStmt{Pos: at(line), Condition: cond, Body: body}, false
	case tokDo:
		p.advance()
		body := p.scopedBlock(false)
		p.expectMatch(tokEnd, tokDo, line)
		return &ast.DoStmt{Pos: at(line), Body: body}, false
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
		var values []ast.Expr
		if !p.blockEnds() && p.tok.kind != ';' {
			values = p.exprList()
		}
		return &ast.ReturnStmt{Pos: at(line), Values: values}, true
	case tokBreak:
		p.advance()
		p.checkLoop()
		return &ast.BreakStmt{Pos: at(line)}, true
	}
	return p.exprStatement(line), false
}

func (p *parser) checkLoop() {
	if !slices.ContainsFunc(p.fn.scopes, func(s scope) bool { return s.loop }) {
		p.syntax("no loop to break")
	}
}

func (p *parser) ifStatement(line int) ast.Stmt {
	stmt := &ast.IfStmt{Pos: at(line)}
	for {
		p.advance()
		cond := p.expr()
		p.expect(tokThen)
		stmt.Clauses = append(stmt.Clauses, ast.Clause{Condition: cond, Body: p.scopedBlock(false)})
		if p.tok.kind != tokElseif {
			break
		}
	}
	if p.accept(tokElse) {
		stmt.Else = p.scopedBlock(false)
	}
	p.expectMatch(tokEnd, tokIf, line)
	return stmt
}

func (p *parser) repeatStatement(line int) ast.Stmt {
	p.advance()
	p.openScope(true)
	p.openScope(false)
	body := p.block()
	p.expectMatch(tokUntil, tokRepeat, line)
	cond := p.expr() // the body's locals are in scope
	p.closeScope()
	p.closeScope()
	return &ast.RepeatStmt{Pos: at(line), Condition: cond, Body: body}
}

func (p *parser) forStatement(line int) ast.Stmt {
	p.advance()
	p.openScope(true)
	name := p.expectName()
	var stmt ast.Stmt
	switch p.tok.kind {
	case '=':
		stmt = p.numericFor(name, line)
	case ',', tokIn:
		stmt = p.genericFor(name, line)
	default:
		p.syntax("'=' or 'in' expected")
	}
	p.expectMatch(tokEnd, tokFor, line)
	p.closeScope()
	return stmt
}

func (p *parser) numericFor(name string, line int) ast.Stmt {
	p.advance()
	stmt := &ast.NumericForStmt{Pos: at(line), Name: name}
	stmt.Start = p.expr()
	p.expect(',')
	stmt.Limit = p.expr()
	if p.accept(',') {
		stmt.Step = p.expr()
	}
	stmt.DoLine = p.here()
	p.expect(tokDo)
	p.declare("(for index)", "(for limit)", "(for step)")
	p.openScope(false)
	p.declare(name)
	stmt.Body = p.block()
	p.closeScope()
	return stmt
}

func (p *parser) genericFor(first string, line int) ast.Stmt {
	names := []string{first}
	for p.accept(',') {
		names = append(names, p.expectName())
	}
	p.expect(tokIn)
	values := p.exprList()
	p.expect(tokDo)
	p.declare("(for generator)", "(for state)", "(for control)")
	p.openScope(false)
	p.declare(names...)
	stmt := &ast.GenericForStmt{Pos: at(line), Names: names, Values: values, Body: p.block()}
	p.closeScope()
	return stmt
}

func (p *parser) functionStatement(line int) ast.Stmt {
	p.advance()
	nameLine := p.here()
	name := p.expectName()
	var target ast.Expr = &ast.NameExpr{Pos: at(nameLine), Name: name, Global: p.use(name)}
	links := 0
	for p.accept('.') {
		p.countLink(&links)
		target = field(target, p.here(), p.expectName())
	}
	method := p.accept(':')
	if method {
		target = field(target, p.here(), p.expectName())
	}
	return &ast.FunctionStmt{Pos: at(line), Target: target, Function: p.body(method, line)}
}

func field(object ast.Expr, line int, name string) ast.Expr {
	key := &ast.StringExpr{Pos: at(line), Value: name}
	return &ast.IndexExpr{Pos: at(line), Object: object, Key: key, Dot: true}
}

func (p *parser) localFunction(line int) ast.Stmt {
	name := p.expectName()
	p.declare(name)
	return &ast.LocalFunctionStmt{Pos: at(line), Name: name, Function: p.body(false, p.here())}
}

func (p *parser) localStatement(line int) ast.Stmt {
	stmt := &ast.LocalStmt{Pos: at(line), Names: []string{p.expectName()}}
	for p.accept(',') {
		stmt.Names = append(stmt.Names, p.expectName())
	}
	if p.accept('=') {
		stmt.Values = p.exprList()
	}
	p.declare(stmt.Names...)
	return stmt
}

func (p *parser) exprStatement(line int) ast.Stmt {
	e := p.primary()
	switch e.(type) {
	case *ast.CallExpr, *ast.MethodExpr:
		return &ast.CallStmt{Pos: at(line), Call: e}
	}
	targets := []ast.Expr{p.target(e)}
	for p.accept(',') {
		targets = append(targets, p.target(p.primary()))
		p.checkLimit(p.fn, len(targets)-1, maxLevels-p.levels, "variables in assignment")
	}
	p.expect('=')
	values := p.exprList()
	return &ast.AssignStmt{Pos: at(p.lastLine), Targets: targets, Values: values}
}

// target checks that e can be assigned to.
func (p *parser) target(e ast.Expr) ast.Expr {
	if e != p.parenthesized {
		switch e.(type) {
		case *ast.NameExpr, *ast.IndexExpr:
			return e
		}
	}
	p.syntax("syntax error")
	return nil
}
