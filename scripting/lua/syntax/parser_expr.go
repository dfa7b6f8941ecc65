package syntax

import "github.com/zlimit/zlimit/scripting/lua/ast"

func at(line int) ast.Pos { return ast.Pos{Line: line} }

func (p *parser) exprList() []ast.Expr {
	exprs := []ast.Expr{p.expr()}
	for p.accept(',') {
		exprs = append(exprs, p.expr())
	}
	return exprs
}

func (p *parser) expr() ast.Expr { return p.subexpr(0) }

// A binaryOperator binds its operands as strongly as left and right say.
type binaryOperator struct {
	op          ast.Op
	left, right int
}

var binaryOperators = map[int]binaryOperator{
	tokOr: {ast.Or, 1, 1}, tokAnd: {ast.And, 2, 2},
	'<': {ast.Less, 3, 3}, tokLe: {ast.LessEqual, 3, 3}, tokEq: {ast.Equal, 3, 3},
	'>': {ast.Greater, 3, 3}, tokGe: {ast.GreaterEqual, 3, 3}, tokNe: {ast.NotEqual, 3, 3},
	tokConcat: {ast.Concat, 5, 4},
	'+':       {ast.Add, 6, 6}, '-': {ast.Sub, 6, 6},
	'*': {ast.Mul, 7, 7}, '/': {ast.Div, 7, 7}, '%': {ast.Mod, 7, 7},
	'^': {ast.Pow, 10, 9},
}

var unaryOperators = map[int]ast.Op{tokNot: ast.Not, '-': ast.Minus, '#': ast.Len}

const unaryPriority = 8

// subexpr reads an expression whose binary operators bind more strongly than limit.
func (p *parser) subexpr(limit int) ast.Expr {
	p.enterLevel()
	var left ast.Expr
	if op, ok := unaryOperators[p.tok.kind]; ok {
		p.advance()
		operand := p.subexpr(unaryPriority)
		left = &ast.UnaryExpr{Pos: at(p.lastLine), Op: op, Operand: operand}
	} else {
		left = p.simple()
	}
	links := 0
	for {
		operator := binaryOperators[p.tok.kind]
		if operator.left <= limit {
			break
		}
		p.countLink(&links)
		p.advance()
		right := p.subexpr(operator.right)
		left = &ast.BinaryExpr{Pos: at(p.lastLine), Op: operator.op, Left: left, Right: right}
	}
	p.leaveLevel()
	return left
}

func (p *parser) simple() ast.Expr {
	line := p.here()
	var e ast.Expr
	switch p.tok.kind {
	case tokNumber:
		e = &ast.NumberExpr{Pos: at(line), Value: p.tok.num}
	case tokString:
		e = &ast.StringExpr{Pos: at(line), Value: p.tok.str}
	case tokNil:
		e = &ast.NilExpr{Pos: at(line)}
	case tokTrue:
		e = &ast.TrueExpr{Pos: at(line)}
	case tokFalse:
		e = &ast.FalseExpr{Pos: at(line)}
	case tokDots:
		if !p.fn.vararg {
			p.syntax("cannot use '...' outside a vararg function")
		}
		p.fn.varargs = true
		e = &ast.VarargExpr{Pos: at(line)}
	case '{':
		return p.table()
	case tokFunction:
		p.advance()
		return p.body(false, line)
	default:
		return p.primary()
	}
	p.advance()
	return e
}

// primary reads a name or parentheses with the fields, indexes and calls that follow.
func (p *parser) primary() ast.Expr {
	e := p.prefix()
	links := 0
	for {
		p.countLink(&links)
		switch p.tok.kind {
		case '.':
			p.advance()
			e = field(e, p.here(), p.expectName())
		case '[':
			p.advance()
			key := p.expr()
			p.expect(']')
			e = &ast.IndexExpr{Pos: at(p.lastLine), Object: e, Key: key}
		case ':':
			p.advance()
			nameLine := p.here()
			name := p.expectName()
			line := p.here()
			e = &ast.MethodExpr{Pos: at(line), NameLine: nameLine, Receiver: e, Name: name, Args: p.args()}
		case '(', '{', tokString:
			line := p.here()
			e = &ast.CallExpr{Pos: at(line), Function: e, Args: p.args()}
		default:
			return e
		}
	}
}

func (p *parser) prefix() ast.Expr {
	line := p.here()
	switch p.tok.kind {
	case '(':
		p.advance()
		e := p.expr()
		p.expectMatch(')', '(', line)
		switch e.(type) {
		case *ast.CallExpr, *ast.MethodExpr, *ast.VarargExpr:
			e = &ast.ParenExpr{Pos: at(line), Inner: e}
		}
		p.parenthesized = e
		return e
	case tokName:
		name := p.tok.str
		p.advance()
		return &ast.NameExpr{Pos: at(line), Name: name, Global: p.use(name)}
	}
	p.syntax("unexpected symbol")
	return nil
}

func (p *parser) args() []ast.Expr {
	line := p.here()
	switch p.tok.kind {
	case '(':
		if line != p.lastLine {
			p.syntax("ambiguous syntax (function call x new statement)")
		}
		p.advance()
		var args []ast.Expr
		if p.tok.kind != ')' {
			args = p.exprList()
		}
		p.expectMatch(')', '(', line)
		return args
	case '{':
		return []ast.Expr{p.table()}
	case tokString:
		s := &ast.StringExpr{Pos: at(line), Value: p.tok.str}
		p.advance()
		return []ast.Expr{s}
	}
	p.syntax("function arguments expected")
	return nil
}

func (p *parser) table() ast.Expr {
	line := p.here()
	p.expect('{')
	t := &ast.TableExpr{Pos: at(line)}
	for p.tok.kind != '}' {
		t.Fields = append(t.Fields, p.tableField())
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.expectMatch('}', '{', line)
	return t
}

func (p *parser) tableField() ast.Field {
	line := p.here()
	switch {
	case p.tok.kind == '[':
		p.advance()
		key := p.expr()
		p.expect(']')
		p.expect('=')
		value := p.expr()
		return ast.Field{Line: p.lastLine, Key: key, Value: value}
	case p.tok.kind == tokName && p.lookahead() == '=':
		key := &ast.StringExpr{Value: p.tok.str, Pos: at(line)}
		p.advance()
		p.advance()
		value := p.expr()
		return ast.Field{Line: p.lastLine, Key: key, Value: value}
	}
	return ast.Field{Line: line, Value: p.expr()}
}

func (p *parser) body(method bool, line int) *ast.FunctionExpr {
	fn := &funcScope{parent: p.fn, line: line}
	p.fn = fn
	p.expect('(')
	e := &ast.FunctionExpr{Pos: at(line)}
	param := func(name string) {
		e.Params = append(e.Params, name)
		p.declare(name)
	}
	if method {
		param("self")
	}
	for p.tok.kind != ')' {
		if p.accept(tokDots) {
			e.Vararg, fn.vararg = true, true
			break
		}
		if p.tok.kind != tokName {
			p.syntax("<name> or '...' expected")
		}
		param(p.expectName())
		if !p.accept(',') {
			break
		}
		if p.tok.kind == ')' {
			p.syntax("<name> or '...' expected")
		}
	}
	if fn.vararg {
		p.declare("arg")
	}
	p.expect(')')
	e.Body = p.block()
	e.EndLine, e.UsesVararg = p.here(), fn.varargs
	p.expectMatch(tokEnd, tokFunction, line)
	p.fn = fn.parent
	return e
}
