package scripting

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxStringLen limits the result of one library call. Above it, Lua would run
// out of memory at some point.
const maxStringLen = 512 << 20

// substring returns s[from:to]. It copies a small part, which would keep a
// large string alive.
func substring(s string, from, to int) lua.LString {
	if len(s) > 1024 && to-from < len(s)/2 {
		return lua.LString(strings.Clone(s[from:to]))
	}
	return lua.LString(s[from:to])
}

func (in *interp) stringLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"byte": in.stringByte, "char": in.stringChar, "dump": in.stringDump, "find": in.stringFind,
		"format": in.stringFormat, "gfind": in.stringGmatch, "gmatch": in.stringGmatch, "gsub": in.stringGsub,
		"len": in.stringLen, "lower": in.stringLower, "match": in.stringMatch, "rep": in.stringRep,
		"reverse": in.stringReverse, "sub": in.stringSub, "upper": in.stringUpper,
	}
}

func fromEnd(pos, length int) int {
	if pos < 0 {
		pos += length + 1
	}
	return max(pos, 0)
}

func (in *interp) stringByte(L *lua.LState) int {
	s := in.checkString(L, 1)
	from := fromEnd(in.optInt(L, 2, 1), len(s))
	to := min(fromEnd(in.optInt(L, 3, from), len(s)), len(s))
	from = max(from, 1)
	if from > to {
		return 0
	}
	n := to - from + 1
	if n+L.GetTop() > maxCStack {
		in.fail(L, "stack overflow (string slice too long)")
	}
	for _, ch := range []byte(s[from-1 : to]) {
		L.Push(lua.LNumber(ch))
	}
	return n
}

func (in *interp) stringChar(L *lua.LState) int {
	b := make([]byte, L.GetTop())
	for i := range b {
		n := in.checkInt(L, i+1)
		if n < 0 || n > 255 {
			in.argError(L, i+1, "invalid value")
		}
		b[i] = byte(n)
	}
	L.Push(lua.LString(b))
	return 1
}

func (in *interp) stringLen(L *lua.LState) int {
	L.Push(lua.LNumber(len(in.checkString(L, 1))))
	return 1
}

// mapBytes changes the case of letters in place, as in C's "C" locale.
func mapBytes(b []byte, from, to byte) []byte {
	for i, ch := range b {
		if from <= ch && ch <= to {
			b[i] = ch ^ 0x20
		}
	}
	return b
}

func (in *interp) stringLower(L *lua.LState) int {
	s := in.checkString(L, 1)
	in.grow(L, len(s))
	L.Push(text(mapBytes([]byte(s), 'A', 'Z')))
	return 1
}

func (in *interp) stringUpper(L *lua.LState) int {
	s := in.checkString(L, 1)
	in.grow(L, len(s))
	L.Push(text(mapBytes([]byte(s), 'a', 'z')))
	return 1
}

func (in *interp) stringRep(L *lua.LState) int {
	s, n := in.checkString(L, 1), max(in.checkInt(L, 2), 0)
	if len(s) > 0 && n > maxStringLen/len(s) {
		in.throw(L, lua.LString(errNoMemory))
	}
	in.grow(L, len(s)*n)
	L.Push(lua.LString(strings.Repeat(s, n)))
	return 1
}

func (in *interp) stringReverse(L *lua.LState) int {
	s := in.checkString(L, 1)
	in.grow(L, len(s))
	b := make([]byte, len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	L.Push(lua.LString(b))
	return 1
}

func (in *interp) stringSub(L *lua.LState) int {
	s := in.checkString(L, 1)
	from := in.checkInt(L, 2)
	from, to := substringRange(s, from, in.optInt(L, 3, -1))
	in.grow(L, to-from)
	L.Push(substring(s, from, to))
	return 1
}

// substringRange returns from and to for string.sub: the result is s[from:to].
func substringRange(s string, first, last int) (from, to int) {
	first, last = max(fromEnd(first, len(s)), 1), min(fromEnd(last, len(s)), len(s))
	if first > last {
		return 0, 0
	}
	return first - 1, last
}

// withPattern runs fn and raises the errors of a malformed pattern.
func (in *interp) withPattern(L *lua.LState, fn func() int) (n int) {
	defer func() {
		if r := recover(); r != nil {
			var e patternError
			err, ok := r.(error)
			switch {
			case !ok:
				panic(r)
			case errors.Is(err, errOutOfSteps):
				in.check(L, false)
			case !errors.As(err, &e):
				panic(r)
			}
			in.fail(L, string(e))
		}
	}()
	return fn()
}

func (in *interp) stringFind(L *lua.LState) int  { return in.findPattern(L, true) }
func (in *interp) stringMatch(L *lua.LState) int { return in.findPattern(L, false) }

func (in *interp) findPattern(L *lua.LState, find bool) int {
	s, pat := in.checkString(L, 1), in.checkString(L, 2)
	init := in.optInt(L, 3, 1)
	if init < 0 {
		init += len(s) + 1
	}
	init = min(max(init-1, 0), len(s))
	if find && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(pat, "^$*+?.([%-")) {
		in.steps(L, (len(s)-init)/bytesPerStep)
		i := strings.Index(s[init:], pat)
		if i < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(init + i + 1))
		L.Push(lua.LNumber(init + i + len(pat)))
		return 2
	}
	return in.withPattern(L, func() int {
		body, anchored := strings.CutPrefix(pat, "^")
		m := matcher{meter: &in.meter, src: s, pat: body}
		for ; init <= len(s); init++ {
			m.level = 0
			if e := m.match(init, 0); e >= 0 {
				if !find {
					return in.pushCaptures(L, &m, init, e, true)
				}
				L.Push(lua.LNumber(init + 1))
				L.Push(lua.LNumber(e))
				return in.pushCaptures(L, &m, init, e, false) + 2
			}
			if anchored {
				break
			}
		}
		L.Push(lua.LNil)
		return 1
	})
}

// captured returns the nth capture of a match. The whole match is the first if
// the pattern has none.
func captured(m *matcher, n, start, end int) lua.LValue {
	if n >= m.level {
		if n != 0 {
			malformed("invalid capture index")
		}
		return substring(m.src, start, end)
	}
	switch c := m.captures[n]; c.len {
	case captureOpen:
		malformed("unfinished capture")
		return nil
	case capturePosition:
		return lua.LNumber(c.start + 1)
	default:
		return substring(m.src, c.start, c.start+c.len)
	}
}

func (in *interp) pushCaptures(L *lua.LState, m *matcher, start, end int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		L.Push(captured(m, i, start, end))
	}
	return n
}

func (in *interp) stringGmatch(L *lua.LState) int {
	s, pat := in.checkString(L, 1), in.checkString(L, 2)
	pos := 0
	// The string is also an upvalue, so that reachableBytes finds it.
	L.Push(L.NewClosure(func(L *lua.LState) int {
		return in.withPattern(L, func() int {
			m := matcher{meter: &in.meter, src: s, pat: pat}
			for ; pos <= len(s); pos++ {
				m.level = 0
				if e := m.match(pos, 0); e >= 0 {
					start := pos
					pos = e
					if e == start {
						pos++
					}
					return in.pushCaptures(L, &m, start, e, true)
				}
			}
			return 0
		})
	}, lua.LString(s)))
	return 1
}

func (in *interp) stringGsub(L *lua.LState) int {
	s, pat := in.checkString(L, 1), in.checkString(L, 2)
	repl := L.Get(3)
	switch repl.Type() {
	case lua.LTNumber, lua.LTString, lua.LTFunction, lua.LTTable:
	default:
		in.argError(L, 3, "string/function/table expected")
	}
	most := in.optInt(L, 4, len(s)+1)
	return in.withPattern(L, func() int {
		body, anchored := strings.CutPrefix(pat, "^")
		m := matcher{meter: &in.meter, src: s, pat: body}
		var b []byte
		n, pos := 0, 0
		scratch := in.meter.scratchBytes
		for n < most {
			m.level = 0
			e := m.match(pos, 0)
			if e >= 0 {
				n++
				b = in.appendReplacement(L, b, &m, pos, e, repl)
			}
			switch {
			case e > pos:
				pos = e
			case pos < len(s):
				b = append(in.growBuffer(L, b, 1), s[pos])
				pos++
			default:
				pos++
			}
			if pos > len(s) || anchored {
				break
			}
		}
		if pos < len(s) {
			b = append(in.growBuffer(L, b, len(s)-pos), s[pos:]...)
		}
		in.meter.scratchBytes = scratch
		L.Push(text(b))
		L.Push(lua.LNumber(n))
		return 2
	})
}

func (in *interp) appendReplacement(
	L *lua.LState, b []byte, m *matcher, start, end int, repl lua.LValue,
) []byte {
	var value lua.LValue
	switch r := repl.(type) {
	case *lua.LTable:
		value = in.indexValue(L, r, captured(m, 0, start, end))
	case *lua.LFunction:
		L.Push(r)
		n := in.pushCaptures(L, m, start, end, true)
		in.call(L, n)
		value = L.Get(-1)
		L.Pop(1)
	default:
		text, _ := asString(repl)
		return in.appendTemplate(L, b, text, m, start, end)
	}
	if lua.LVIsFalse(value) {
		return append(in.growBuffer(L, b, end-start), m.src[start:end]...)
	}
	text, ok := asString(value)
	if !ok {
		in.fail(L, "invalid replacement value (a "+typeName(value)+")")
	}
	return append(in.growBuffer(L, b, len(text)), text...)
}

func (in *interp) indexValue(L *lua.LState, t *lua.LTable, key lua.LValue) lua.LValue {
	if v := t.RawGet(key); v != lua.LNil || t.Metatable == lua.LNil {
		return v
	}
	return L.GetTable(t, key)
}

func (in *interp) appendTemplate(L *lua.LState, b []byte, text string, m *matcher, start, end int) []byte {
	for i := 0; i < len(text); i++ {
		b = in.growBuffer(L, b, 1)
		ch := text[i]
		if ch != '%' {
			b = append(b, ch)
			continue
		}
		i++
		switch {
		case i == len(text):
			b = append(b, 0) // C Lua reads the terminator
		case !isDigit(text[i]):
			b = append(b, text[i])
		case text[i] == '0':
			b = append(in.growBuffer(L, b, end-start), m.src[start:end]...)
		default:
			s, _ := asString(captured(m, int(text[i]-'1'), start, end))
			b = append(in.growBuffer(L, b, len(s)), s...)
		}
	}
	return b
}
