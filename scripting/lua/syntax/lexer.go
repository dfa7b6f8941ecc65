package syntax

import (
	"fmt"
	"strings"
)

// Token kinds above the byte values: reserved words in Lua's order, then the others.
const (
	tokAnd = iota + 257
	tokBreak
	tokDo
	tokElse
	tokElseif
	tokEnd
	tokFalse
	tokFor
	tokFunction
	tokIf
	tokIn
	tokLocal
	tokNil
	tokNot
	tokOr
	tokRepeat
	tokReturn
	tokThen
	tokTrue
	tokUntil
	tokWhile
	tokConcat
	tokDots
	tokEq // and the others that end in '=', in the order of operator
	tokGe
	tokLe
	tokNe
	tokNumber
	tokName
	tokString
	tokEOF
)

var tokenNames = [...]string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function",
	"if", "in", "local", "nil", "not", "or", "repeat", "return", "then",
	"true", "until", "while",
	"..", "...", "==", ">=", "<=", "~=", "<number>", "<name>", "<string>", "<eof>",
}

var reserved = func() map[string]int {
	m := make(map[string]int)
	for i, name := range tokenNames[:tokWhile-tokAnd+1] {
		m[name] = tokAnd + i
	}
	return m
}()

func tokenName(kind int) string {
	switch {
	case kind >= tokAnd:
		return tokenNames[kind-tokAnd]
	case kind < 32 || kind == 127:
		return fmt.Sprintf("char(%d)", kind)
	}
	return string([]byte{byte(kind)})
}

type token struct {
	kind int
	text string // as written, for errors
	str  string // the value of a name or string
	num  float64
}

// A lexer splits a source as Lua 5.1 does. Errors panic with *Error, which parse recovers.
type lexer struct {
	src   string
	pos   int
	line  int
	chunk string // the short source name at the start of error texts
}

func (lx *lexer) failNear(msg, near string) {
	if i := strings.IndexByte(near, 0); i >= 0 {
		near = near[:i]
	}
	lx.fail(msg + " near '" + near + "'")
}

func (lx *lexer) fail(msg string) {
	panic(&Error{fmt.Sprintf("%s:%d: %s", lx.chunk, lx.line, msg)})
}

func (lx *lexer) peek(ahead int) int {
	if lx.pos+ahead < len(lx.src) {
		return int(lx.src[lx.pos+ahead])
	}
	return -1
}

// at reports whether the next byte is one of set.
func (lx *lexer) at(set string) bool {
	return lx.pos < len(lx.src) && strings.IndexByte(set, lx.src[lx.pos]) >= 0
}

// newline skips a line break of one or two bytes.
func (lx *lexer) newline() {
	first := lx.src[lx.pos]
	lx.pos++
	if lx.at("\n\r") && lx.src[lx.pos] != first {
		lx.pos++
	}
	lx.line++
}

func (lx *lexer) next() token {
	for lx.pos < len(lx.src) {
		ch := lx.src[lx.pos]
		switch {
		case ch == '\n' || ch == '\r':
			lx.newline()
		case IsSpace(ch):
			lx.pos++
		case ch == '-' && lx.peek(1) == '-':
			lx.comment()
		case IsDigit(ch) || ch == '.' && lx.peek(1) >= 0 && IsDigit(byte(lx.peek(1))):
			return lx.number()
		case IsAlpha(ch) || ch == '_':
			return lx.name()
		case ch == '"' || ch == '\'':
			return lx.quoted(ch)
		case ch == '[':
			if level := lx.longOpening(); level >= 0 {
				return lx.longString(level, false)
			}
			return lx.operator()
		default:
			return lx.operator()
		}
	}
	return token{kind: tokEOF, text: "<eof>"}
}

// operator reads the longest operator at the position, or a single byte.
func (lx *lexer) operator() token {
	kind, size := int(lx.src[lx.pos]), 1
	switch next := lx.peek(1); {
	case kind == '.' && next == '.' && lx.peek(2) == '.':
		kind, size = tokDots, 3
	case kind == '.' && next == '.':
		kind, size = tokConcat, 2
	case next == '=' && strings.IndexByte("=><~", byte(kind)) >= 0:
		kind, size = tokEq+strings.IndexByte("=><~", byte(kind)), 2
	}
	lx.pos += size
	return token{kind: kind, text: tokenName(kind)}
}

func (lx *lexer) name() token {
	s := lx.word()
	if kind, ok := reserved[s]; ok {
		return token{kind: kind, text: s}
	}
	return token{kind: tokName, text: s, str: s}
}

// word skips letters, digits and underscores, and returns them.
func (lx *lexer) word() string {
	start := lx.pos
	for lx.pos < len(lx.src) && (IsAlnum(lx.src[lx.pos]) || lx.src[lx.pos] == '_') {
		lx.pos++
	}
	return lx.src[start:lx.pos]
}

// number reads every character that can be part of a number and then validates the whole, as Lua 5.1 does.
func (lx *lexer) number() token {
	start := lx.pos
	for lx.at("0123456789.") {
		lx.pos++
	}
	// C Lua takes a NUL for a sign of the exponent, and then for the end of the number.
	if lx.at("eE\x00") {
		if lx.pos++; lx.at("+-\x00") {
			lx.pos++
		}
	}
	lx.word()
	s := lx.src[start:lx.pos]
	f, ok := ParseNumber(s)
	if !ok {
		lx.failNear("malformed number", s)
	}
	return token{kind: tokNumber, text: s, num: f}
}

func (lx *lexer) comment() {
	lx.pos += 2
	if lx.peek(0) == '[' {
		if level := lx.longOpening(); level >= 0 {
			lx.longString(level, true)
			return
		}
	}
	for lx.pos < len(lx.src) && !lx.at("\n\r") {
		lx.pos++
	}
}

// longOpening returns the level of the long bracket at the position, or -1. A bracket with equals signs but
// no second bracket is an error, except in a comment.
func (lx *lexer) longOpening() int {
	level := 0
	for lx.peek(1+level) == '=' {
		level++
	}
	if lx.peek(1+level) == '[' {
		return level
	}
	if level > 0 && (lx.pos < 2 || lx.src[lx.pos-2:lx.pos] != "--") {
		lx.failNear("invalid long string delimiter", lx.src[lx.pos:lx.pos+1+level])
	}
	return -1
}

func (lx *lexer) longString(level int, comment bool) token {
	start := lx.pos
	lx.pos += level + 2
	if lx.at("\n\r") {
		lx.newline()
	}
	closing := "]" + strings.Repeat("=", level) + "]"
	var b strings.Builder
	for {
		switch ch := lx.peek(0); {
		case ch < 0 && comment:
			lx.failNear("unfinished long comment", "<eof>")
		case ch < 0:
			lx.failNear("unfinished long string", "<eof>")
		case ch == ']' && strings.HasPrefix(lx.src[lx.pos:], closing):
			lx.pos += len(closing)
			return token{kind: tokString, text: lx.src[start:lx.pos], str: b.String()}
		case ch == '[' && level == 0 && lx.peek(1) == '[' && !comment:
			lx.failNear("nesting of [[...]] is deprecated", "[")
		case ch == '\n' || ch == '\r':
			lx.newline()
			b.WriteByte('\n')
		default:
			b.WriteByte(byte(ch))
			lx.pos++
		}
	}
}

func (lx *lexer) quoted(quote byte) token {
	lx.pos++
	var b []byte
	shown := func() string { return string(quote) + string(b) }
	for {
		switch ch := lx.peek(0); {
		case ch < 0:
			lx.failNear("unfinished string", "<eof>")
		case ch == '\n' || ch == '\r':
			lx.failNear("unfinished string", shown())
		case ch == int(quote):
			lx.pos++
			return token{kind: tokString, text: shown() + string(quote), str: string(b)}
		case ch == '\\':
			b = lx.escape(b, shown)
		default:
			b = append(b, byte(ch))
			lx.pos++
		}
	}
}

func (lx *lexer) escape(b []byte, shown func() string) []byte {
	lx.pos++
	ch := lx.peek(0)
	switch {
	case ch < 0:
		return b // the caller reports it
	case ch == '\n' || ch == '\r':
		lx.newline()
		return append(b, '\n')
	case IsDigit(byte(ch)):
		n := 0
		for i := 0; i < 3 && lx.at("0123456789"); i++ {
			n = n*10 + lx.peek(0) - '0'
			lx.pos++
		}
		if n > 255 {
			lx.failNear("escape sequence too large", shown())
		}
		return append(b, byte(n))
	}
	lx.pos++
	if i := strings.IndexByte("abfnrtv", byte(ch)); i >= 0 {
		return append(b, "\a\b\f\n\r\t\v"[i])
	}
	return append(b, byte(ch))
}
