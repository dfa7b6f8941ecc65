package syntax

import (
	"fmt"
	"math"
	"slices"

	"github.com/zlimit/zlimit/scripting/lua/ast"
)

// The limits of Lua 5.1, and one of ours: constructs that Lua reads in a loop
// (a+b+c, f()()()) are nested nodes here.
const (
	maxLevels   = 200
	maxLocals   = 200
	maxUpvalues = 60
	maxChain    = 20000
)

// A parser reads a source as Lua 5.1 does, in one pass and with its error texts, and builds a syntax tree.
// It follows the scopes only as far as limits need. Errors panic with *Error.
type parser struct {
	lexer
	tok           token
	ahead         token // the token after tok, if tokLine is not 0
	lastLine      int   // of the token before tok
	tokLine       int   // of tok, while ahead was read; else 0
	tokensLeft    int   // how many more may be read
	levels        int
	fn            *funcScope
	parenthesized ast.Expr // content of parentheses: neither a target nor a statement
}

// A funcScope is the state of a function being parsed, with its open scopes.
type funcScope struct {
	parent   *funcScope
	line     int
	vararg   bool
	varargs  bool // `...` was used
	locals   []string
	scopes   []scope
	upvalues []string
}

type scope struct {
	locals int // number visible outside
	loop   bool
}

// Parse parses a chunk. ShortSource(name) is at the start of error texts. A source of more than maxTokens
// tokens, if that is not 0, fails with ErrTooManyTokens.
func Parse(src, name string, maxTokens int) (c *ast.Chunk, err error) {
	p := &parser{lexer: lexer{src: src, line: 1, chunk: ShortSource(name)}, tokensLeft: maxTokens}
	if maxTokens == 0 {
		p.tokensLeft = math.MaxInt
	}
	defer Recover(&err)
	p.fn = &funcScope{vararg: true}
	p.lastLine = 1
	p.advance()
	body := p.block()
	p.check(tokEOF)
	return &ast.Chunk{Body: body}, nil
}

// ErrTooManyTokens is the error of a source with more tokens than allowed.
const ErrTooManyTokens = "not enough memory"

// Recover is deferred: it returns an Error that was the value of a panic.
func Recover(err *error) {
	if r := recover(); r != nil {
		e, ok := r.(*Error)
		if !ok {
			panic(r)
		}
		*err = e
	}
}

func (p *parser) advance() {
	p.lastLine = p.here()
	if p.tokLine != 0 {
		p.tok, p.tokLine = p.ahead, 0
		return
	}
	p.tok = p.next()
	if p.tokensLeft--; p.tokensLeft < 0 {
		panic(&Error{ErrTooManyTokens})
	}
}

// here returns the line of the end of the current token.
func (p *parser) here() int {
	if p.tokLine != 0 {
		return p.tokLine
	}
	return p.line
}

func (p *parser) lookahead() int {
	p.tokLine = p.here()
	p.tokensLeft--
	p.ahead = p.next()
	return p.ahead.kind
}

func (p *parser) syntax(msg string) {
	if p.tok.kind == 0 { // a NUL byte, which Lua does not count as a token
		p.fail(msg)
	}
	p.failNear(msg, p.tok.text)
}

func (p *parser) accept(kind int) bool {
	if p.tok.kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) check(kind int) {
	if p.tok.kind != kind {
		p.syntax("'" + tokenName(kind) + "' expected")
	}
}

func (p *parser) expect(kind int) {
	p.check(kind)
	p.advance()
}

// expectMatch is expect for a token that closes a construct, possibly on another line.
func (p *parser) expectMatch(kind, opening, line int) {
	if p.accept(kind) {
		return
	}
	if line == p.here() {
		p.check(kind)
	}
	p.syntax(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", tokenName(kind), tokenName(opening),
		line))
}

func (p *parser) expectName() string {
	p.check(tokName)
	s := p.tok.str
	p.advance()
	return s
}

func (p *parser) enterLevel() { p.countLevel(&p.levels, maxLevels) }

func (p *parser) leaveLevel() { p.levels-- }

// countLink counts the links of a construct that nests here but not in Lua.
func (p *parser) countLink(n *int) { p.countLevel(n, maxChain) }

func (p *parser) countLevel(n *int, most int) {
	if *n++; *n > most {
		p.fail("chunk has too many syntax levels")
	}
}

func (p *parser) checkLimit(fn *funcScope, n, limit int, what string) {
	if n <= limit {
		return
	}
	where := "main function"
	if fn.line != 0 {
		where = fmt.Sprintf("function at line %d", fn.line)
	}
	p.fail(fmt.Sprintf("%s has more than %d %s", where, limit, what))
}

func (p *parser) declare(names ...string) {
	for _, name := range names {
		p.fn.locals = append(p.fn.locals, name)
		p.checkLimit(p.fn, len(p.fn.locals), maxLocals, "local variables")
	}
}

func (p *parser) openScope(loop bool) {
	p.fn.scopes = append(p.fn.scopes, scope{len(p.fn.locals), loop})
}

func (p *parser) closeScope() {
	last := len(p.fn.scopes) - 1
	p.fn.locals = p.fn.locals[:p.fn.scopes[last].locals]
	p.fn.scopes = p.fn.scopes[:last]
}

// use records the upvalues that a name needs, and reports whether it is a global.
func (p *parser) use(name string) (global bool) {
	for fn := p.fn; fn != nil; fn = fn.parent {
		if slices.Contains(fn.locals, name) {
			for inner := p.fn; inner != fn; inner = inner.parent {
				p.addUpvalue(inner, name)
			}
			return false
		}
	}
	return true
}

func (p *parser) addUpvalue(fn *funcScope, name string) {
	if !slices.Contains(fn.upvalues, name) {
		fn.upvalues = append(fn.upvalues, name)
		p.checkLimit(fn, len(fn.upvalues), maxUpvalues, "upvalues")
	}
}

func (p *parser) blockEnds() bool {
	switch p.tok.kind {
	case tokElse, tokElseif, tokEnd, tokEOF, tokUntil:
		return true
	}
	return false
}

func (p *parser) block() []ast.Stmt {
	p.enterLevel()
	var stmts []ast.Stmt
	for last := false; !last && !p.blockEnds(); {
		var stmt ast.Stmt
		stmt, last = p.statement()
		stmts = append(stmts, stmt)
		p.accept(';')
	}
	p.leaveLevel()
	return stmts
}

func (p *parser) scopedBlock(loop bool) []ast.Stmt {
	p.openScope(loop)
	stmts := p.block()
	p.closeScope()
	return stmts
}
