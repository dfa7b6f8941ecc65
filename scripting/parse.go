package scripting

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// The limits of Lua 5.1, and three of ours: constructs that Lua reads in a loop
// (a+b+c, f()()(), elseif) are nested nodes here.
const (
	maxLevels   = 200
	maxLocals   = 200
	maxUpvalues = 60
	maxChain    = 20000
	maxBranches = 10000 // of an `if`; the compiler takes time quadratic in their number
	// gopher-lua searches for constants below every node of a sum, so that long
	// sums are split; see subexpr.
	maxSum = 64
)

// A parser reads a source as Lua 5.1 does, in one pass and with its error
// texts, and builds gopher-lua's syntax tree. It resolves names, to bind
// globals to library functions or seal them. Errors panic with *syntaxError.
type parser struct {
	lexer
	tok       token
	ahead     token // the token after tok, if peeked
	peeked    bool
	lastLine  position // of the token before tok
	tokLine   position // of tok, if peeked
	count     int      // of tokens read
	maxTokens int      // limit of count; 0 for none
	levels    int
	locals    map[position][]*lua.DbgLocalInfo
	fn        *funcState
	// mayHaveLen is set if a metatable may have __len, which Lua 5.1 ignores on
	// tables and gopher-lua does not.
	mayHaveLen    bool
	parenthesized ast.Expr // content of parentheses: neither a target nor a statement
}

// A position is a line and the number of a token, in one int so that it fits
// where the syntax tree and the bytecode keep lines. The token determines the
// locals in scope; gopher-lua's own record is wrong if a register is used
// twice.
type position = int

const tokenBits = 20

func newPosition(line, token int) position {
	return line<<tokenBits | min(token, 1<<tokenBits-1)
}

func lineOf(p position) int  { return p >> tokenBits }
func tokenOf(p position) int { return p & (1<<tokenBits - 1) }

// A funcState is the state of a function being parsed, with its open scopes.
type funcState struct {
	parent   *funcState
	line     position
	vararg   bool
	params   int // number of locals that are named parameters
	locals   []string
	active   []*lua.DbgLocalInfo // of locals
	debug    []*lua.DbgLocalInfo // every local, with tokens instead of instructions
	scopes   []scope
	upvalues []string
}

type scope struct {
	locals int // number visible outside
	loop   bool
}

// A chunk is a parsed source: its tree and, by the position of each function,
// the locals with the range of tokens in which they are in scope.
type chunk struct {
	stmts  []ast.Stmt
	locals map[position][]*lua.DbgLocalInfo
}

// parse parses a chunk. name is the short name at the start of error texts. A
// source of more than maxTokens tokens, if that is not 0, fails with
// errNoMemory.
func parse(src, name string, maxTokens int) (c *chunk, err error) {
	p := &parser{lexer: lexer{src: src, line: 1, chunk: name}, maxTokens: maxTokens}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*syntaxError)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	p.mayHaveLen = strings.Contains(src, "__len")
	p.locals = make(map[position][]*lua.DbgLocalInfo)
	p.fn = &funcState{vararg: true}
	p.lastLine = newPosition(1, 0)
	p.advance()
	stmts := p.block()
	p.check(tokEOF)
	p.locals[0] = p.fn.debug
	return &chunk{stmts, p.locals}, nil
}

func (p *parser) advance() {
	p.lastLine = p.here()
	if p.peeked {
		p.tok, p.peeked = p.ahead, false
		return
	}
	p.tok = p.next()
	p.count++
	if p.maxTokens > 0 && p.count > p.maxTokens {
		panic(&syntaxError{errNoMemory})
	}
}

// here returns the position of the end of the current token.
func (p *parser) here() position {
	if p.peeked {
		return p.tokLine
	}
	return newPosition(p.line, p.count)
}

func (p *parser) lookahead() int {
	p.tokLine = p.here()
	p.count++
	p.ahead = p.next()
	p.peeked = true
	return p.ahead.kind
}

func (p *parser) syntax(msg string) {
	if p.tok.kind == 0 { // a NUL byte, which Lua does not count as a token
		p.failPlain(msg)
	}
	p.fail(msg, p.tok.text)
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

// expectMatch is expect for a token that closes a construct, possibly on
// another line.
func (p *parser) expectMatch(kind, opening int, line position) {
	if p.accept(kind) {
		return
	}
	if lineOf(line) == lineOf(p.here()) {
		p.check(kind)
	}
	p.syntax(fmt.Sprintf("'%s' expected (to close '%s' at line %d)",
		tokenName(kind), tokenName(opening), lineOf(line)))
}

func (p *parser) expectName() string {
	p.check(tokName)
	s := p.tok.str
	p.advance()
	return s
}

func (p *parser) enterLevel() {
	p.levels++
	if p.levels > maxLevels {
		p.failPlain("chunk has too many syntax levels")
	}
}

func (p *parser) leaveLevel() { p.levels-- }

// countLink counts the links of a construct that nests here but not in Lua.
func (p *parser) countLink(n *int, limit int) {
	*n++
	if *n > limit {
		p.failPlain("chunk has too many syntax levels")
	}
}

func (p *parser) checkLimit(n, limit int, what string) {
	if n <= limit {
		return
	}
	if p.fn.line == 0 {
		p.failPlain(fmt.Sprintf("main function has more than %d %s", limit, what))
	}
	p.failPlain(fmt.Sprintf("function at line %d has more than %d %s", lineOf(p.fn.line), limit, what))
}

func (p *parser) declare(names ...string) {
	for _, name := range names {
		local := &lua.DbgLocalInfo{Name: name, StartPc: tokenOf(p.here()), EndPc: 1 << tokenBits}
		p.fn.debug = append(p.fn.debug, local)
		p.fn.active = append(p.fn.active, local)
		p.fn.locals = append(p.fn.locals, name)
		p.checkLimit(len(p.fn.locals), maxLocals, "local variables")
	}
}

func (p *parser) openScope(loop bool) {
	p.fn.scopes = append(p.fn.scopes, scope{len(p.fn.locals), loop})
}

func (p *parser) closeScope() {
	last := len(p.fn.scopes) - 1
	n := p.fn.scopes[last].locals
	for _, local := range p.fn.active[n:] {
		local.EndPc = tokenOf(p.here())
	}
	p.fn.locals, p.fn.active = p.fn.locals[:n], p.fn.active[:n]
	p.fn.scopes = p.fn.scopes[:last]
}

// isGlobal reports whether a name is a global. If not, it records the upvalues.
func (p *parser) isGlobal(name string) bool {
	for fn := p.fn; fn != nil; fn = fn.parent {
		for i := len(fn.locals) - 1; i >= 0; i-- {
			if fn.locals[i] == name {
				for inner := p.fn; inner != fn; inner = inner.parent {
					p.addUpvalue(inner, name)
				}
				return false
			}
		}
	}
	return true
}

func (p *parser) addUpvalue(fn *funcState, name string) {
	for _, known := range fn.upvalues {
		if known == name {
			return
		}
	}
	fn.upvalues = append(fn.upvalues, name)
	if len(fn.upvalues) > maxUpvalues {
		p.failPlain(fmt.Sprintf("function at line %d has more than %d upvalues",
			lineOf(fn.line), maxUpvalues))
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
	stmts := []ast.Stmt{}
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

// at sets a node's lines and returns it.
func at[T ast.PositionHolder](node T, line position) T {
	node.SetLine(line)
	node.SetLastLine(line)
	return node
}
