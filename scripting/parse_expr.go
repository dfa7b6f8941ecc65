package scripting

import (
	"math"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

func (p *parser) exprList() []ast.Expr {
	exprs := []ast.Expr{p.expr()}
	for p.accept(',') {
		exprs = append(exprs, p.expr())
	}
	return exprs
}

func (p *parser) expr() ast.Expr { return p.subexpr(0) }

func priority(kind int) (left, right int) {
	switch kind {
	case '+', '-':
		return 6, 6
	case '*', '/', '%':
		return 7, 7
	case '^':
		return 10, 9
	case tokConcat:
		return 5, 4
	case tokNe, tokEq, '<', tokLe, '>', tokGe:
		return 3, 3
	case tokAnd:
		return 2, 2
	case tokOr:
		return 1, 1
	}
	return 0, 0
}

const unaryPriority = 8

// subexpr reads an expression whose binary operators bind more strongly than
// limit.
func (p *parser) subexpr(limit int) ast.Expr {
	p.enterLevel()
	var left ast.Expr
	switch op := p.tok.kind; op {
	case tokNot, '-', '#':
		p.advance()
		left = p.unary(op, p.subexpr(unaryPriority))
	default:
		left = p.simple()
	}
	links := 0
	for {
		op, text := p.tok.kind, p.tok.text
		bindLeft, bindRight := priority(op)
		if bindLeft <= limit {
			break
		}
		p.countLink(&links, maxChain)
		p.advance()
		if links%maxSum == 0 {
			left = splitSum(left, p.lastLine)
		}
		left = binary(op, text, left, p.subexpr(bindRight), p.lastLine)
	}
	p.leaveLevel()
	return left
}

func (p *parser) unary(op int, operand ast.Expr) ast.Expr {
	switch op {
	case tokNot:
		return at(&ast.UnaryNotOpExpr{Expr: operand}, p.lastLine)
	case '#':
		if p.mayHaveLen {
			return hiddenCall(hiddenLen, p.lastLine, adjustToOne(operand))
		}
		return at(&ast.UnaryLenOpExpr{Expr: operand}, p.lastLine)
	}
	if n, ok := operand.(*ast.NumberExpr); ok {
		f, _ := strconv.ParseFloat(n.Value, 64)
		return at(numberExpr(-f), p.lastLine)
	}
	return at(&ast.UnaryMinusOpExpr{Expr: operand}, p.lastLine)
}

func numberExpr(f float64) *ast.NumberExpr {
	if f == 0 && math.Signbit(f) {
		return &ast.NumberExpr{Value: "-0.0"}
	}
	return &ast.NumberExpr{Value: strconv.FormatFloat(f, 'g', -1, 64)}
}

func binary(op int, text string, left, right ast.Expr, line int) ast.Expr {
	switch op {
	case tokAnd, tokOr:
		return at(&ast.LogicalOpExpr{Operator: text, Lhs: left, Rhs: right}, line)
	case tokNe, tokEq, '<', tokLe, '>', tokGe:
		return at(&ast.RelationalOpExpr{Operator: text, Lhs: left, Rhs: right}, line)
	case tokConcat:
		return concat(left, right, line)
	case '%':
		return hiddenCall(hiddenMod, line, adjustToOne(left), adjustToOne(right))
	}
	return at(&ast.ArithmeticOpExpr{Operator: text, Lhs: left, Rhs: right}, line)
}

// splitSum wraps a sum in an expression of the same value, (true and sum), at
// which the compiler's search for constants ends.
func splitSum(e ast.Expr, line position) ast.Expr {
	if _, ok := e.(*ast.ArithmeticOpExpr); !ok {
		return e
	}
	return at(&ast.LogicalOpExpr{Operator: "and", Lhs: at(&ast.TrueExpr{}, line), Rhs: e}, line)
}

// concat returns a..b as a call of a hidden function that formats numbers as
// Lua does. a..b..c becomes one call.
func concat(left, right ast.Expr, line int) ast.Expr {
	args := []ast.Expr{adjustToOne(left)}
	if call, ok := right.(*ast.FuncCallExpr); ok && isConcat(call) {
		args = append(args, call.Args...)
	} else {
		args = append(args, adjustToOne(right))
	}
	return hiddenCall(hiddenConcat, line, args...)
}

// adjustToOne truncates an expression that may yield several values to the
// first.
func adjustToOne(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}

func (p *parser) simple() ast.Expr {
	line := p.here()
	switch p.tok.kind {
	case tokNumber:
		n := numberExpr(p.tok.num)
		p.advance()
		return at(n, line)
	case tokString:
		s := &ast.StringExpr{Value: p.tok.str}
		p.advance()
		return at(s, line)
	case tokNil:
		p.advance()
		return at(&ast.NilExpr{}, line)
	case tokTrue:
		p.advance()
		return at(&ast.TrueExpr{}, line)
	case tokFalse:
		p.advance()
		return at(&ast.FalseExpr{}, line)
	case tokDots:
		if !p.fn.vararg {
			p.syntax("cannot use '...' outside a vararg function")
		}
		p.advance()
		if p.fn.parent == nil {
			// A script has no arguments of this kind.
			call := hiddenCall(hiddenNone, line)
			call.AdjustRet = false
			return call
		}
		return at(&ast.Comma3Expr{}, line)
	case '{':
		return p.table()
	case tokFunction:
		p.advance()
		return p.body(false, line)
	}
	return p.primary()
}

// primary reads a name or parentheses with the fields, indexes and calls that
// follow.
func (p *parser) primary() ast.Expr {
	e := p.prefix()
	links := 0
	for {
		p.countLink(&links, maxChain)
		switch p.tok.kind {
		case '.':
			p.advance()
			line := p.here()
			e = p.field(e, p.expectName(), line)
		case '[':
			p.advance()
			key := p.expr()
			p.expect(']')
			e = at(&ast.AttrGetExpr{Object: e, Key: key}, p.lastLine)
		case ':':
			p.advance()
			method := p.expectName()
			line := p.here()
			args := p.args()
			e = at(&ast.FuncCallExpr{Receiver: e, Method: method, Args: args}, line)
		case '(', '{', tokString:
			line := p.here()
			args := p.args()
			e = at(&ast.FuncCallExpr{Func: e, Args: args}, line)
		default:
			return e
		}
	}
}

// field reads e.name. A function of a sealed library is bound here, because it
// cannot be replaced.
func (p *parser) field(e ast.Expr, name string, line int) ast.Expr {
	if id, ok := e.(*ast.IdentExpr); ok && isLibraryFunction(id.Value, name) && p.isGlobal(id.Value) {
		return at(&ast.IdentExpr{Value: id.Value + "." + name}, line)
	}
	return attr(e, line, name)
}

func (p *parser) prefix() ast.Expr {
	line := p.here()
	switch p.tok.kind {
	case '(':
		p.advance()
		e := p.expr()
		p.expectMatch(')', '(', line)
		p.parenthesized = adjustToOne(e)
		return p.parenthesized
	case tokName:
		name := p.tok.str
		p.advance()
		p.isGlobal(name)
		return at(&ast.IdentExpr{Value: name}, line)
	}
	p.syntax("unexpected symbol")
	return nil
}

func (p *parser) args() []ast.Expr {
	line := p.here()
	switch p.tok.kind {
	case '(':
		if lineOf(line) != lineOf(p.lastLine) {
			p.syntax("ambiguous syntax (function call x new statement)")
		}
		p.advance()
		args := []ast.Expr{}
		if p.tok.kind != ')' {
			args = p.exprList()
		}
		p.expectMatch(')', '(', line)
		return args
	case '{':
		return []ast.Expr{p.table()}
	case tokString:
		s := at(&ast.StringExpr{Value: p.tok.str}, line)
		p.advance()
		return []ast.Expr{s}
	}
	p.syntax("function arguments expected")
	return nil
}

func (p *parser) table() ast.Expr {
	line := p.here()
	p.expect('{')
	t := &ast.TableExpr{Fields: []*ast.Field{}}
	for p.tok.kind != '}' {
		t.Fields = append(t.Fields, p.tableField())
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.expectMatch('}', '{', line)
	return at(t, line)
}

func (p *parser) tableField() *ast.Field {
	switch {
	case p.tok.kind == '[':
		p.advance()
		key := p.expr()
		p.expect(']')
		p.expect('=')
		return &ast.Field{Key: key, Value: p.expr()}
	case p.tok.kind == tokName && p.lookahead() == '=':
		key := at(&ast.StringExpr{Value: p.tok.str}, p.here())
		p.advance()
		p.advance()
		return &ast.Field{Key: key, Value: p.expr()}
	}
	return &ast.Field{Value: p.expr()}
}

func (p *parser) body(method bool, line position) *ast.FunctionExpr {
	fn := &funcState{parent: p.fn, line: line}
	p.fn = fn
	p.expect('(')
	params := &ast.ParList{Names: []string{}}
	if method {
		p.declare("self")
	}
	for p.tok.kind != ')' {
		if p.accept(tokDots) {
			params.HasVargs, fn.vararg = true, true
			break
		}
		if p.tok.kind != tokName {
			p.syntax("<name> or '...' expected")
		}
		name := p.expectName()
		params.Names = append(params.Names, name)
		p.declare(name)
		if !p.accept(',') {
			break
		}
		if p.tok.kind == ')' {
			p.syntax("<name> or '...' expected")
		}
	}
	fn.params = len(fn.locals)
	if fn.vararg {
		p.declare("arg")
	}
	p.expect(')')
	stmts := p.block()
	end := p.here()
	p.expectMatch(tokEnd, tokFunction, line)
	p.fn = fn.parent
	p.locals[line] = fn.debug
	e := &ast.FunctionExpr{ParList: params, Stmts: stmts}
	e.SetLine(line)
	e.SetLastLine(end)
	return e
}
