package lua

import (
	"strings"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// maxStringLen limits the result of one library call. Above it, Lua would run out of memory at some point.
const maxStringLen = 512 << 20

var stringLibrary = []Entry{
	{"byte", stringByte},
	{"char", stringChar},
	{"dump", stringDump},
	{"find", stringFind},
	{"format", stringFormat},
	{"gfind", stringGmatch},
	{"gmatch", stringGmatch},
	{"gsub", stringGsub},
	{"len", stringLen},
	{"lower", stringLower},
	{"match", stringMatch},
	{"rep", stringRep},
	{"reverse", stringReverse},
	{"sub", stringSub},
	{"upper", stringUpper},
}

// fromEnd converts a position, which counts from the end if it is negative.
func fromEnd(pos, length int) int {
	if pos < 0 {
		pos += length + 1
	}
	return max(pos, 0)
}

func stringByte(L *Thread) int {
	s := L.CheckString(1)
	from := fromEnd(L.OptInt(2, 1), len(s))
	to := min(fromEnd(L.OptInt(3, from), len(s)), len(s))
	from = max(from, 1)
	if from > to {
		return 0
	}
	n := to - from + 1
	if n+L.Top() > maxPushed {
		L.Error("stack overflow (string slice too long)")
	}
	L.Step(n / valuesPerStep)
	for i := from - 1; i < to; i++ {
		L.PushNumber(float64(s[i]))
	}
	return n
}

func stringChar(L *Thread) int {
	b := L.Alloc(L.Top())
	for i := 1; i <= L.Top(); i++ {
		n := L.CheckInt(i)
		if n < 0 || n > 255 {
			L.ArgError(i, "invalid value")
		}
		b = append(b, byte(n))
	}
	return L.Return(Bytes(b))
}

func stringLen(L *Thread) int {
	return L.Return(Number(float64(len(L.CheckString(1)))))
}

func stringLower(L *Thread) int { return L.changeCase('A', 'Z') }
func stringUpper(L *Thread) int { return L.changeCase('a', 'z') }

// changeCase changes the case of the letters between two, as in C's "C" locale.
func (L *Thread) changeCase(from, to byte) int {
	s := L.CheckString(1)
	b := append(L.Alloc(len(s)), s...)
	for i, ch := range b {
		if from <= ch && ch <= to {
			b[i] = ch ^ 0x20
		}
	}
	return L.Return(Bytes(b))
}

func stringRep(L *Thread) int {
	s, n := L.CheckString(1), max(L.CheckInt(2), 0)
	if len(s) > 0 && n > maxStringLen/len(s) {
		L.Throw(String("not enough memory"))
	}
	if len(s) == 0 {
		n = 0
	}
	size := len(s) * n
	b := L.Alloc(size)[:size]
	for done := copy(b, s); done < size; done *= 2 {
		copy(b[done:], b[:done])
	}
	return L.Return(Bytes(b))
}

func stringReverse(L *Thread) int {
	s := L.CheckString(1)
	b := L.Alloc(len(s))
	for i := len(s) - 1; i >= 0; i-- {
		b = append(b, s[i])
	}
	return L.Return(Bytes(b))
}

func stringSub(L *Thread) int {
	s := L.CheckString(1)
	first := L.CheckInt(2)
	last := min(fromEnd(L.OptInt(3, -1), len(s)), len(s))
	if first = max(fromEnd(first, len(s)), 1); first > last {
		return L.Return(String(""))
	}
	return L.Return(L.Substring(s, first-1, last))
}

func stringFind(L *Thread) int  { return findPattern(L, true) }
func stringMatch(L *Thread) int { return findPattern(L, false) }

const patternSpecials = "^$*+?.([%-"

func findPattern(L *Thread, find bool) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	init := min(max(fromEnd(L.OptInt(3, 1), len(s))-1, 0), len(s))
	if find {
		if plain := L.Get(4); plain.Truthy() || !strings.ContainsAny(pattern, patternSpecials) {
			L.Step((len(s) - init) / bytesPerStep)
			i := strings.Index(s[init:], pattern)
			if i < 0 {
				return L.Return(Nil)
			}
			return L.Return(Number(float64(init+i+1)), Number(float64(init+i+len(pattern))))
		}
	}
	m := newMatcher(L, s, pattern)
	start, end := m.next(init)
	m.flush()
	switch {
	case end < 0:
		return L.Return(Nil)
	case find:
		return L.Return(Number(float64(start+1)), Number(float64(end))) + m.pushCaptures(start, end, false)
	}
	return m.pushCaptures(start, end, true)
}

func stringGmatch(L *Thread) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	return L.Return(FunctionValue(L.NewFunction(gmatchStep, String(s), String(pattern), Number(0))))
}

// gmatchStep is the iterator of gmatch. It keeps the subject, the pattern and where to continue.
func gmatchStep(L *Thread) int {
	state := L.frames[len(L.frames)-1].fn.host.captured
	m := matcher{L: L, src: state[0].Str(), pat: state[1].Str()}
	start, end := m.next(int(state[2].Num()))
	m.flush()
	if end < 0 {
		state[2] = Number(float64(len(m.src) + 1))
		return 0
	}
	next := end
	if end == start {
		next++
	}
	state[2] = Number(float64(next))
	return m.pushCaptures(start, end, true)
}

func stringGsub(L *Thread) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	replacement := L.Get(3)
	switch replacement.kind {
	case KindNumber, KindString, KindFunction, KindTable:
	default:
		L.ArgError(3, "string/function/table expected")
	}
	most := L.OptInt(4, len(s)+1)
	m := newMatcher(L, s, pattern)
	b := L.Buffer()
	n, pos := 0, 0
	for n < most && pos <= len(s) {
		start, end := m.next(pos)
		if end < 0 {
			break
		}
		n++
		b = append(L.GrowBuffer(b, start-pos+1), s[pos:start]...)
		m.flush()
		b = m.appendReplacement(b, start, end, &replacement)
		pos = end
		if end == start { // the next match begins after the byte here
			b = append(L.GrowBuffer(b, 1), s[end:min(end+1, len(s))]...)
			pos++
		}
		if m.anchored {
			break
		}
	}
	m.flush()
	if pos < len(s) {
		b = append(L.GrowBuffer(b, len(s)-pos), s[pos:]...)
	}
	if n == 0 {
		L.releaseBuffer(b)
		return L.Return(String(s), Number(0))
	}
	return L.Return(L.FinishBuffer(b), Number(float64(n)))
}

// appendReplacement appends what gsub puts in place of a match.
func (m *matcher) appendReplacement(b []byte, start, end int, replacement *Value) []byte {
	L := m.L
	var value Value
	switch replacement.kind {
	case KindTable:
		key := m.captured(0, start, end)
		value = L.index(replacement, &key, anonymous)
	case KindFunction:
		L.Push(*replacement)
		n := m.pushCaptures(start, end, true)
		L.Call(n, 1)
		value = L.Get(-1)
		L.Pop(1)
	default:
		text, _ := L.AsString(*replacement)
		return m.appendTemplate(b, text, start, end)
	}
	if !value.Truthy() {
		return append(L.GrowBuffer(b, end-start), m.src[start:end]...)
	}
	text, ok := L.AsString(value)
	if !ok {
		L.Error("invalid replacement value (a " + value.TypeName() + ")")
	}
	return append(L.GrowBuffer(b, len(text)), text...)
}

// appendTemplate appends a replacement string, in which %0 to %9 stand for captures.
func (m *matcher) appendTemplate(b []byte, text string, start, end int) []byte {
	L := m.L
	for i := 0; i < len(text); i++ {
		b = L.GrowBuffer(b, 1)
		ch := text[i]
		if ch != '%' {
			b = append(b, ch)
			continue
		}
		i++
		switch {
		case i == len(text):
			b = append(b, 0) // C Lua reads the terminator
		case !syntax.IsDigit(text[i]):
			b = append(b, text[i])
		case text[i] == '0':
			b = append(L.GrowBuffer(b, end-start), m.src[start:end]...)
		default:
			s, _ := L.AsString(m.captured(int(text[i]-'1'), start, end))
			b = append(L.GrowBuffer(b, len(s)), s...)
		}
	}
	return b
}
