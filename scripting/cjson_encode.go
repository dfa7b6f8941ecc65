package scripting

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

func (j jsonLibrary) encode(L *lua.LState) int {
	if L.GetTop() != 1 {
		j.in.argError(L, 1, "expected 1 argument")
	}
	scratch := j.in.meter.scratchBytes
	b := j.appendJSON(L, nil, L.Get(1), 0)
	j.in.meter.scratchBytes = scratch
	j.in.pushBytes(L, b)
	return 1
}

func (j jsonLibrary) appendJSON(L *lua.LState, b []byte, v lua.LValue, depth int) []byte {
	j.in.steps(L, 1)
	b = j.in.growBuffer(L, b, 32) // a number and punctuation
	switch v := v.(type) {
	case lua.LString:
		return appendJSONString(j.in.growBuffer(L, b, jsonLength(string(v))), string(v))
	case lua.LNumber:
		return j.appendJSONNumber(L, b, float64(v))
	case lua.LBool:
		return append(b, v.String()...)
	case *lua.LTable:
		return j.appendJSONTable(L, b, v, depth+1)
	case *lua.LNilType:
		return append(b, "null"...)
	case *lua.LUserData:
		if v == j.in.jsonNull {
			return append(b, "null"...)
		}
	}
	j.in.fail(L, "Cannot serialise "+typeName(v)+": type not supported")
	return nil
}

func (j jsonLibrary) appendJSONNumber(L *lua.LState, b []byte, f float64) []byte {
	if math.IsInf(f, 0) || f != f {
		switch j.encodeInvalid {
		case jsonOff:
			j.in.fail(L, "Cannot serialise number: must not be NaN or Inf")
		case jsonNullNumber:
			return append(b, "null"...)
		}
		if f != f {
			return append(b, "nan"...)
		}
	}
	return appendG(b, f, j.precision)
}

func (j jsonLibrary) appendJSONTable(L *lua.LState, b []byte, t *lua.LTable, depth int) []byte {
	if depth > j.encodeDepth {
		j.in.fail(L, fmt.Sprintf("Cannot serialise, excessive nesting (%d)", depth))
	}
	t = j.in.content(t)
	if n := j.arrayLength(L, t); n > 0 {
		for i := 1; i <= n; i++ {
			b = append(b, ",["[btoi(i == 1)])
			b = j.appendJSON(L, b, rawGetInt(t, i), depth)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	first := true
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if !first {
			b = append(b, ',')
		}
		first = false
		switch k := key.(type) {
		case lua.LNumber:
			b = append(b, '"')
			b = j.appendJSONNumber(L, b, float64(k))
			b = append(b, '"')
		case lua.LString:
			b = appendJSONString(j.in.growBuffer(L, b, jsonLength(string(k))), string(k))
		default:
			j.in.fail(L, "Cannot serialise "+typeName(key)+": table key must be a number or string")
		}
		b = append(b, ':')
		b = j.appendJSON(L, b, value, depth)
	}
	return append(b, '}')
}

// jsonLength returns an upper bound of the length of a quoted string.
func jsonLength(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		switch ch := s[i]; {
		case ch < 32 || ch == 127:
			n += 5
		case ch == '"' || ch == '\\' || ch == '/':
			n++
		}
	}
	return n
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// arrayLength returns the largest index of an array, or -1 if a key is not a
// positive integer.
func (j jsonLibrary) arrayLength(L *lua.LState, t *lua.LTable) int {
	most, items := 0, 0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		n, ok := key.(lua.LNumber)
		if !ok || float64(n) != math.Floor(float64(n)) || n < 1 || n > math.MaxInt32 {
			return -1
		}
		j.in.steps(L, 1)
		most = max(most, int(n))
		items++
	}
	if j.sparseRatio > 0 && most > items*j.sparseRatio && most > j.sparseSafe {
		if j.sparseConvert == jsonOff {
			j.in.fail(L, "Cannot serialise table: excessively sparse array")
		}
		return -1
	}
	return most
}

// appendJSONString escapes the same bytes as lua-cjson, which include '/' and
// DEL.
func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch ch := s[i]; ch {
		case '"', '\\', '/':
			b = append(b, '\\', ch)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			if ch < 32 || ch == 127 {
				b = append(b, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
			} else {
				b = append(b, ch)
			}
		}
	}
	return append(b, '"')
}
