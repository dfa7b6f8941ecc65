package lua

import "github.com/zlimit/zlimit/scripting/lua/syntax"

// A charset is a set of bytes.
type charset [4]uint64

func (c *charset) add(ch byte)      { c[ch>>6] |= 1 << (ch & 63) }
func (c *charset) has(ch byte) bool { return c[ch>>6]>>(ch&63)&1 != 0 }

// classes holds what %x stands for, by x: C's ctype in the "C" locale, negated for an upper-case letter. A
// byte that is no class stands for itself.
var classes = func() (all [256]charset) {
	tests := map[byte]func(ch byte) bool{
		'a': syntax.IsAlpha,
		'c': func(ch byte) bool { return ch < 32 || ch == 127 },
		'd': syntax.IsDigit,
		'l': func(ch byte) bool { return 'a' <= ch && ch <= 'z' },
		'p': func(ch byte) bool { return ch > 32 && ch < 127 && !syntax.IsAlnum(ch) },
		's': syntax.IsSpace,
		'u': func(ch byte) bool { return 'A' <= ch && ch <= 'Z' },
		'w': syntax.IsAlnum,
		'x': syntax.IsHex,
		'z': func(ch byte) bool { return ch == 0 },
	}
	for class := range all {
		all[class].add(byte(class))
	}
	for class, test := range tests {
		upper := class - 'a' + 'A'
		all[class], all[upper] = charset{}, charset{}
		for ch := range 256 {
			if test(byte(ch)) {
				all[class].add(byte(ch))
			} else {
				all[upper].add(byte(ch))
			}
		}
	}
	return all
}()

// itemEnd returns the end of the pattern item at p: a byte, a class or a set.
func (m *matcher) itemEnd(p int) int {
	ch := m.pat[p]
	p++
	switch ch {
	case '%':
		if p >= len(m.pat) {
			m.L.Error("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(m.pat) && m.pat[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pat) || m.pat[p] != ']'; first = false {
			if p >= len(m.pat) {
				m.L.Error("malformed pattern (missing ']')")
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

func (m *matcher) matchItem(ch byte, p, end int) bool {
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return classes[m.pat[p+1]].has(ch)
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
			if classes[m.pat[p]].has(ch) {
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

// run returns how many bytes from s on match the item pat[p:end].
func (m *matcher) run(s, p, end int) int {
	rest := m.src[s:]
	n := 0
	switch m.pat[p] {
	case '.':
		m.charge(1)
		return len(rest)
	case '%': // most often
		for class := &classes[m.pat[p+1]]; n < len(rest) && class.has(rest[n]); n++ {
			m.charge(1)
		}
		return n
	}
	for ; n < len(rest) && m.matchItem(rest[n], p, end); n++ {
		m.charge(1 + (end-p)/16)
	}
	return n
}
