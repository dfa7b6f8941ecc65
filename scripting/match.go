package scripting

import (
	"errors"
	"strings"
)

const (
	maxCaptures = 32
	maxDepth    = 8000

	captureOpen     = -1 // its end is not known yet
	capturePosition = -2
)

type capture struct{ start, len int }

type patternError string

func (e patternError) Error() string { return string(e) }

// A matcher tries a pattern of Lua 5.1 at one place of a subject. Backtracking
// is as expensive as in Lua, but recursion is bounded.
type matcher struct {
	meter    *meter
	src, pat string
	level    int
	captures [maxCaptures]capture
	depth    int
}

func malformed(msg string) { panic(patternError(msg)) }

var errOutOfSteps = errors.New("out of steps")

func (m *matcher) chargeSteps(n int) {
	if !m.meter.steps(n) {
		panic(errOutOfSteps)
	}
}

// stepsPerItem returns the steps for comparing a byte with pat[p:end].
func stepsPerItem(p, end int) int { return 1 + (end-p)/16 }

// match matches the pattern from p at s and returns the end of the match, or
// -1.
func (m *matcher) match(s, p int) int {
	m.depth++
	if m.depth > maxDepth {
		malformed("pattern too complex")
	}
	defer func() { m.depth-- }()
	for p < len(m.pat) {
		switch m.pat[p] {
		case '(':
			if p+1 < len(m.pat) && m.pat[p+1] == ')' {
				return m.startCapture(s, p+2, capturePosition)
			}
			return m.startCapture(s, p+1, captureOpen)
		case ')':
			return m.endCapture(s, p+1)
		case '$':
			if p+1 == len(m.pat) {
				if s == len(m.src) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.pat) {
				switch next := m.pat[p+1]; {
				case next == 'b':
					if s = m.balance(s, p+2); s < 0 {
						return -1
					}
					p += 4
					continue
				case next == 'f':
					q, ok := m.frontier(s, p+2)
					if !ok {
						return -1
					}
					p = q
					continue
				case isDigit(next):
					if s = m.backReference(s, next); s < 0 {
						return -1
					}
					p += 2
					continue
				}
			}
		}
		end := m.classEnd(p)
		m.chargeSteps(stepsPerItem(p, end))
		matches := s < len(m.src) && m.matchSingle(m.src[s], p, end)
		var suffix byte
		if end < len(m.pat) {
			suffix = m.pat[end]
		}
		switch suffix {
		case '?':
			if matches {
				if e := m.match(s+1, end+1); e >= 0 {
					return e
				}
			}
			p = end + 1
		case '*':
			return m.longest(s, p, end, 0)
		case '+':
			return m.longest(s, p, end, 1)
		case '-':
			return m.shortest(s, p, end)
		default:
			if !matches {
				return -1
			}
			s++
			p = end
		}
	}
	return s
}

// longest matches the item pat[p:end] at least least times and as often as the
// rest of the pattern allows.
func (m *matcher) longest(s, p, end, least int) int {
	n, cost := 0, stepsPerItem(p, end)
	for s+n < len(m.src) && m.matchSingle(m.src[s+n], p, end) {
		n++
		m.chargeSteps(cost)
	}
	for ; n >= least; n-- {
		if e := m.match(s+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

func (m *matcher) shortest(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e >= 0 {
			return e
		}
		if s >= len(m.src) || !m.matchSingle(m.src[s], p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) startCapture(s, p, kind int) int {
	if m.level >= maxCaptures {
		malformed("too many captures")
	}
	m.captures[m.level] = capture{s, kind}
	m.level++
	e := m.match(s, p)
	if e < 0 {
		m.level--
	}
	return e
}

func (m *matcher) endCapture(s, p int) int {
	l := m.level - 1
	for l >= 0 && m.captures[l].len != captureOpen {
		l--
	}
	if l < 0 {
		malformed("invalid pattern capture")
	}
	m.captures[l].len = s - m.captures[l].start
	e := m.match(s, p)
	if e < 0 {
		m.captures[l].len = captureOpen
	}
	return e
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		malformed("unbalanced pattern")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	open, shut := m.pat[p], m.pat[p+1]
	depth := 1
	for s++; s < len(m.src); s++ {
		m.chargeSteps(1)
		switch m.src[s] {
		case shut:
			if depth--; depth == 0 {
				return s + 1
			}
		case open:
			depth++
		}
	}
	return -1
}

// frontier tests for a transition into the set at p and returns the end of the
// set.
func (m *matcher) frontier(s, p int) (int, bool) {
	if p >= len(m.pat) || m.pat[p] != '[' {
		malformed("missing '[' after '%f' in pattern")
	}
	end := m.classEnd(p)
	var before, after byte
	if s > 0 {
		before = m.src[s-1]
	}
	if s < len(m.src) {
		after = m.src[s]
	}
	return end, !m.inSet(before, p, end-1) && m.inSet(after, p, end-1)
}

func (m *matcher) backReference(s int, digit byte) int {
	l := int(digit) - '1'
	if l < 0 || l >= m.level || m.captures[l].len == captureOpen {
		malformed("invalid capture index")
	}
	c := m.captures[l]
	m.chargeSteps(max(c.len, 0) / bytesPerStep)
	if c.len >= 0 && strings.HasPrefix(m.src[s:], m.src[c.start:c.start+c.len]) {
		return s + c.len
	}
	return -1
}

func (m *matcher) classEnd(p int) int {
	ch := m.pat[p]
	p++
	switch ch {
	case '%':
		if p >= len(m.pat) {
			malformed("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(m.pat) && m.pat[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pat) || m.pat[p] != ']'; first = false {
			if p >= len(m.pat) {
				malformed("malformed pattern (missing ']')")
			}
			if m.pat[p] == '%' && p+1 < len(m.pat) {
				p++
			}
			p++
		}
		return p + 1
	}
	return p
}

func (m *matcher) matchSingle(ch byte, p, end int) bool {
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(ch, m.pat[p+1])
	case '[':
		return m.inSet(ch, p, end-1)
	}
	return m.pat[p] == ch
}

// inSet reports whether ch is in the set that opens at p and closes at last.
func (m *matcher) inSet(ch byte, p, last int) bool {
	in := true
	p++
	if m.pat[p] == '^' {
		in = false
		p++
	}
	for ; p < last; p++ {
		switch {
		case m.pat[p] == '%':
			p++
			if inClass(ch, m.pat[p]) {
				return in
			}
		case m.pat[p+1] == '-' && p+2 < last:
			if m.pat[p] <= ch && ch <= m.pat[p+2] {
				return in
			}
			p += 2
		case m.pat[p] == ch:
			return in
		}
	}
	return !in
}

// inClass is C's ctype in the "C" locale. An upper-case class is negated.
func inClass(ch, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isAlpha(ch)
	case 'c':
		in = ch < 32 || ch == 127
	case 'd':
		in = isDigit(ch)
	case 'l':
		in = 'a' <= ch && ch <= 'z'
	case 'p':
		in = ch > 32 && ch < 127 && !isAlnum(ch)
	case 's':
		in = isSpace(ch)
	case 'u':
		in = 'A' <= ch && ch <= 'Z'
	case 'w':
		in = isAlnum(ch)
	case 'x':
		in = isHex(ch)
	case 'z':
		in = ch == 0
	default:
		return class == ch
	}
	if !isAlpha(class) {
		return class == ch
	}
	return in != ('A' <= class && class <= 'Z')
}
