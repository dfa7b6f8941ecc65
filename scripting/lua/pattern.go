package lua

import (
	"strings"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

const (
	maxCaptures     = 32
	maxPatternDepth = 8000

	captureOpen     = -1 // its end is not known yet
	capturePosition = -2
)

type capture struct{ start, len int32 }

// A matcher tries a pattern of Lua 5.1 at places of a subject. Backtracking is as expensive as in C Lua, but
// recursion is bounded.
type matcher struct {
	L        *Thread
	src, pat string
	anchored bool // to where the search begins
	level    int
	depth    int
	work     int // steps that are not charged yet
	captures [maxCaptures]capture
}

// newMatcher returns a matcher for a pattern that ^ may anchor.
func newMatcher(L *Thread, s, pattern string) matcher {
	body, anchored := strings.CutPrefix(pattern, "^")
	return matcher{L: L, src: s, pat: body, anchored: anchored}
}

// maxWork is how many steps a matcher does before it charges them.
const maxWork = 256

// charge counts n steps: about one for each byte that is compared.
func (m *matcher) charge(n int) {
	if m.work += n; m.work >= maxWork {
		m.flush()
	}
}

func (m *matcher) flush() {
	m.L.Step(m.work)
	m.work = 0
}

// next returns the first match at or after from, with an end below 0 if there is none.
func (m *matcher) next(from int) (start, end int) {
	if m.anchored {
		m.level = 0
		return from, m.match(from, 0)
	}
	first, literal := m.firstByte()
	for ; from <= len(m.src); from++ {
		if literal {
			i := strings.IndexByte(m.src[from:], first)
			if i < 0 {
				m.charge((len(m.src) - from) / bytesPerStep)
				break
			}
			m.charge(i / bytesPerStep)
			from += i
		}
		m.level = 0
		if end := m.match(from, 0); end >= 0 {
			return from, end
		}
	}
	return from, -1
}

// firstByte returns the byte with which every match begins, if the pattern begins with one.
func (m *matcher) firstByte() (byte, bool) {
	if m.pat == "" || strings.IndexByte("%[(.$)", m.pat[0]) >= 0 ||
		len(m.pat) > 1 && strings.IndexByte("*?-", m.pat[1]) >= 0 {
		return 0, false
	}
	return m.pat[0], true
}

// match matches the pattern from p at s and returns the end of the match, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxPatternDepth {
		m.L.Error("pattern too complex")
	}
	m.charge(1)
	end := m.matchItems(s, p)
	m.depth--
	return end
}

func (m *matcher) matchItems(s, p int) int {
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
				case syntax.IsDigit(next):
					if s = m.backReference(s, next); s < 0 {
						return -1
					}
					p += 2
					continue
				}
			}
		}
		end := m.itemEnd(p)
		var suffix byte
		if end < len(m.pat) {
			suffix = m.pat[end]
		}
		switch suffix {
		case '*':
			return m.longest(s, p, end, 0)
		case '+':
			return m.longest(s, p, end, 1)
		case '-':
			return m.shortest(s, p, end)
		}
		m.charge(1 + (end-p)/16)
		matches := s < len(m.src) && m.matchItem(m.src[s], p, end)
		switch {
		case suffix == '?':
			if matches {
				if e := m.match(s+1, end+1); e >= 0 {
					return e
				}
			}
			p = end + 1
		case matches:
			s++
			p = end
		default:
			return -1
		}
	}
	return s
}

// longest matches the item pat[p:end] at least least times and as often as the rest of the pattern allows.
func (m *matcher) longest(s, p, end, least int) int {
	n := m.run(s, p, end)
	for ; n >= least; n-- {
		if e := m.match(s+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

// shortest matches the item pat[p:end] as seldom as the rest of the pattern allows.
func (m *matcher) shortest(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e >= 0 {
			return e
		}
		m.charge(1 + (end-p)/16)
		if s >= len(m.src) || !m.matchItem(m.src[s], p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) startCapture(s, p, kind int) int {
	if m.level >= maxCaptures {
		m.L.Error("too many captures")
	}
	m.captures[m.level] = capture{int32(s), int32(kind)}
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
		m.L.Error("invalid pattern capture")
	}
	m.captures[l].len = int32(s) - m.captures[l].start
	e := m.match(s, p)
	if e < 0 {
		m.captures[l].len = captureOpen
	}
	return e
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		m.L.Error("unbalanced pattern")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	open, shut := m.pat[p], m.pat[p+1]
	depth := 1
	for s++; s < len(m.src); s++ {
		m.charge(1)
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

// frontier tests for a transition into the set at p and returns the end of the set.
func (m *matcher) frontier(s, p int) (int, bool) {
	if p >= len(m.pat) || m.pat[p] != '[' {
		m.L.Error("missing '[' after '%f' in pattern")
	}
	end := m.itemEnd(p)
	m.charge(1 + (end-p)/16)
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
		m.L.Error("invalid capture index")
	}
	c := m.captures[l]
	m.charge(int(max(c.len, 0)) / bytesPerStep)
	if c.len >= 0 && strings.HasPrefix(m.src[s:], m.src[c.start:c.start+c.len]) {
		return s + int(c.len)
	}
	return -1
}

// captured returns the nth capture of a match. The whole match is the first if the pattern has none.
func (m *matcher) captured(n, start, end int) Value {
	if n >= m.level {
		if n != 0 {
			m.L.Error("invalid capture index")
		}
		return m.L.Substring(m.src, start, end)
	}
	switch c := m.captures[n]; c.len {
	case captureOpen:
		m.L.Error("unfinished capture")
		return Nil
	case capturePosition:
		return Number(float64(c.start + 1))
	default:
		return m.L.Substring(m.src, int(c.start), int(c.start+c.len))
	}
}

// pushCaptures pushes the captures of a match, or the whole match if whole is set and there are none.
func (m *matcher) pushCaptures(start, end int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.L.Push(m.captured(i, start, end))
	}
	return n
}
