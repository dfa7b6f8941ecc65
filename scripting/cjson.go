package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// jsonSettings are what cjson's functions without data set. In Redis they
// outlive the script; here each script begins with the defaults.
type jsonSettings struct {
	encodeDepth, decodeDepth int
	precision                int
	sparseConvert            bool
	sparseRatio, sparseSafe  int
	encodeInvalid            bool
	decodeInvalid            bool
	keepBuffer               bool
}

var defaultJSON = jsonSettings{
	encodeDepth: 1000, decodeDepth: 1000, precision: 14, sparseRatio: 2, sparseSafe: 10,
	decodeInvalid: true, keepBuffer: true,
}

func (in *interp) cjsonLibrary() map[string]lua.LGFunction {
	s := &in.json
	return map[string]lua.LGFunction{
		"encode": in.cjsonEncode, "decode": in.cjsonDecode, "new": in.cjsonNew,
		"encode_max_depth":        func(L *lua.LState) int { return in.jsonInt(L, &s.encodeDepth, 1, math.MaxInt32) },
		"decode_max_depth":        func(L *lua.LState) int { return in.jsonInt(L, &s.decodeDepth, 1, math.MaxInt32) },
		"encode_number_precision": func(L *lua.LState) int { return in.jsonInt(L, &s.precision, 1, 14) },
		"encode_invalid_numbers":  func(L *lua.LState) int { return in.jsonBool(L, &s.encodeInvalid) },
		"decode_invalid_numbers":  func(L *lua.LState) int { return in.jsonBool(L, &s.decodeInvalid) },
		"encode_keep_buffer":      func(L *lua.LState) int { return in.jsonBool(L, &s.keepBuffer) },
		"encode_sparse_array": func(L *lua.LState) int {
			in.jsonBool(L, &s.sparseConvert)
			in.jsonIntAt(L, &s.sparseRatio, 2, 0, math.MaxInt32)
			in.jsonIntAt(L, &s.sparseSafe, 3, 0, math.MaxInt32)
			return 3
		},
	}
}

// jsonDepthLimit bounds what a script may set: encoder and decoder recurse.
const jsonDepthLimit = 100_000

func (in *interp) jsonInt(L *lua.LState, setting *int, least, most int) int {
	in.jsonIntAt(L, setting, 1, least, most)
	return 1
}

// jsonIntAt sets a setting to the nth argument, where there is one, and
// pushes it.
func (in *interp) jsonIntAt(L *lua.LState, setting *int, n, least, most int) {
	if L.Get(n) != lua.LNil {
		v := in.checkInt(L, n)
		if v < least || v > most {
			in.argError(L, n, "expected integer between "+formatNumber(float64(least))+" and "+formatNumber(float64(most)))
		}
		*setting = min(v, jsonDepthLimit)
	}
	L.Push(lua.LNumber(*setting))
}

func (in *interp) jsonBool(L *lua.LState, setting *bool) int {
	if v := L.Get(1); v != lua.LNil {
		*setting = lua.LVAsBool(v)
	}
	L.Push(lua.LBool(*setting))
	return 1
}

// cjsonNew returns the one cjson there is: its settings do not outlive the
// script anyway.
func (in *interp) cjsonNew(L *lua.LState) int {
	L.Push(in.env.RawGetString("cjson"))
	return 1
}
