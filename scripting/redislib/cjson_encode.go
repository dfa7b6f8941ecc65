package redislib

import (
	"math"

	"github.com/zlimit/zlimit/scripting/lua"
)

// A jsonEncoder is one call of cjson.encode.
type jsonEncoder struct {
	jsonLibrary
	L *lua.Thread
	b []byte
}

func (j jsonLibrary) encode(L *lua.Thread) int {
	if L.Top() != 1 {
		L.ArgError(1, "expected 1 argument")
	}
	e := jsonEncoder{j, L, L.Buffer()}
	v := L.Get(1)
	e.value(&v, 0)
	return L.Return(L.FinishBuffer(e.b))
}

func (e *jsonEncoder) value(v *lua.Value, depth int) {
	e.L.Step(1)
	e.b = e.L.GrowBuffer(e.b, 32) // a number and punctuation
	switch v.Kind() {
	case lua.KindString:
		e.string(v.Str())
	case lua.KindNumber:
		e.number(v.Num())
	case lua.KindBool:
		if v.Truthy() {
			e.b = append(e.b, "true"...)
		} else {
			e.b = append(e.b, "false"...)
		}
	case lua.KindTable:
		e.table(v.Table(), depth+1)
	case lua.KindNil:
		e.b = append(e.b, "null"...)
	default:
		if !v.Equals(&e.libraries.null) {
			e.L.Error("Cannot serialise " + v.TypeName() + ": type not supported")
		}
		e.b = append(e.b, "null"...)
	}
}

func (e *jsonEncoder) number(f float64) {
	if math.IsInf(f, 0) || f != f {
		switch e.encodeInvalid {
		case jsonOff:
			e.L.Error("Cannot serialise number: must not be NaN or Inf")
		case jsonNullNumber:
			e.b = append(e.b, "null"...)
			return
		}
		if f != f {
			e.b = append(e.b, "nan"...)
			return
		}
	}
	if e.precision == 14 {
		e.b = lua.AppendNumber(e.b, f) // the common case is an integer
	} else {
		e.b = lua.AppendG(e.b, f, e.precision)
	}
}

func (e *jsonEncoder) table(t *lua.Table, depth int) {
	if depth > e.encodeDepth {
		e.L.Errorf("Cannot serialise, excessive nesting (%d)", depth)
	}
	if n := e.arrayLength(t); n > 0 {
		for i := 1; i <= n; i++ {
			e.b = append(e.b, ",["[btoi(i == 1)])
			v := t.GetInt(i)
			e.value(&v, depth)
		}
		e.b = append(e.b, ']')
		return
	}
	e.b = append(e.b, '{')
	first := true
	for key, value, _ := t.Next(lua.Nil); !key.IsNil(); key, value, _ = t.Next(key) {
		if !first {
			e.b = append(e.b, ',')
		}
		first = false
		switch key.Kind() {
		case lua.KindNumber:
			e.b = append(e.L.GrowBuffer(e.b, 32), '"')
			e.number(key.Num())
			e.b = append(e.b, '"')
		case lua.KindString:
			e.string(key.Str())
		default:
			e.L.Error("Cannot serialise " + key.TypeName() + ": table key must be a number or string")
		}
		e.b = append(e.b, ':')
		e.value(&value, depth)
	}
	e.b = append(e.b, '}')
}

// arrayLength returns the largest index of an array, or -1 if a key is not a positive integer.
func (e *jsonEncoder) arrayLength(t *lua.Table) int {
	most, items := 0, 0
	for key, _, _ := t.Next(lua.Nil); !key.IsNil(); key, _, _ = t.Next(key) {
		if key.Kind() != lua.KindNumber {
			return -1
		}
		n := key.Num()
		if n != math.Floor(n) || n < 1 || n > math.MaxInt32 {
			return -1
		}
		e.L.Step(1)
		most = max(most, int(n))
		items++
	}
	if e.sparseRatio > 0 && most > items*e.sparseRatio && most > e.sparseSafe {
		if e.sparseConvert == jsonOff {
			e.L.Error("Cannot serialise table: excessively sparse array")
		}
		return -1
	}
	return most
}

// jsonEscapes holds what a byte becomes in a string: itself if "". They are those of lua-cjson, which include
// '/' and DEL.
var jsonEscapes = func() (escapes [256]string) {
	const hex = "0123456789abcdef"
	for ch := range 32 {
		escapes[ch] = `\u00` + hex[ch>>4:ch>>4+1] + hex[ch&15:ch&15+1]
	}
	for ch, text := range map[byte]string{
		'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
		127: `\u007f`,
	} {
		escapes[ch] = text
	}
	return escapes
}()

func (e *jsonEncoder) string(s string) {
	size := len(s) + 4 // punctuation
	for i := range len(s) {
		if text := jsonEscapes[s[i]]; text != "" {
			size += len(text) - 1
		}
	}
	b := append(e.L.GrowBuffer(e.b, size), '"')
	if size == len(s)+4 {
		b = append(b, s...)
	} else {
		for i := range len(s) {
			if text := jsonEscapes[s[i]]; text != "" {
				b = append(b, text...)
			} else {
				b = append(b, s[i])
			}
		}
	}
	e.b = append(b, '"')
}
