package scripting

import (
	"math"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/resp"
)

// jsonSettings are the settings of cjson. In Redis they outlive the script;
// here each script starts with the defaults.
type jsonSettings struct {
	encodeDepth, decodeDepth int
	precision                int
	sparseRatio, sparseSafe  int

	// Each is jsonOff, jsonOn or, for encodeInvalid only, jsonNullNumber.
	sparseConvert, encodeInvalid, decodeInvalid, keepBuffer int
}

const (
	jsonOff = iota
	jsonOn
	jsonNullNumber
)

var defaultJSON = jsonSettings{
	encodeDepth: 1000, decodeDepth: 1000, precision: 14, sparseRatio: 2, sparseSafe: 10,
	decodeInvalid: jsonOn, keepBuffer: jsonOn,
}

// A jsonLibrary is one set of cjson's functions with shared settings: cjson
// itself, or the result of cjson.new.
type jsonLibrary struct {
	in *interp
	*jsonSettings
}

func (j jsonLibrary) functions() map[string]lua.LGFunction {
	in, s := j.in, j.jsonSettings
	number := func(setting *int, least, most int) lua.LGFunction {
		return func(L *lua.LState) int {
			in.jsonArgs(L, 1)
			in.jsonInt(L, setting, 1, least, most)
			return 1
		}
	}
	choice := func(setting *int, names ...string) lua.LGFunction {
		return func(L *lua.LState) int {
			in.jsonArgs(L, 1)
			in.jsonChoice(L, setting, names)
			return 1
		}
	}
	return map[string]lua.LGFunction{
		"encode": j.encode, "decode": j.decode, "new": in.cjsonNew,
		"encode_max_depth":        number(&s.encodeDepth, 1, math.MaxInt32),
		"decode_max_depth":        number(&s.decodeDepth, 1, math.MaxInt32),
		"encode_number_precision": number(&s.precision, 1, 14),
		"encode_invalid_numbers":  choice(&s.encodeInvalid, "off", "on", "null"),
		"decode_invalid_numbers":  choice(&s.decodeInvalid, "off", "on"),
		"encode_keep_buffer":      choice(&s.keepBuffer, "off", "on"),
		"encode_sparse_array": func(L *lua.LState) int {
			in.jsonArgs(L, 3)
			in.jsonChoice(L, &s.sparseConvert, []string{"off", "on"})
			in.jsonInt(L, &s.sparseRatio, 2, 0, math.MaxInt32)
			in.jsonInt(L, &s.sparseSafe, 3, 0, math.MaxInt32)
			return 3
		},
	}
}

// jsonArgs pads the arguments with nil to n, and refuses more.
func (in *interp) jsonArgs(L *lua.LState, n int) {
	if L.GetTop() > n {
		in.argError(L, n+1, "found too many arguments")
	}
	L.SetTop(n)
}

// jsonInt sets a setting to the nth argument, if any, and pushes it.
func (in *interp) jsonInt(L *lua.LState, setting *int, n, least, most int) {
	if L.Get(n) != lua.LNil {
		v := toInteger(in.checkNumber(L, n))
		if v < int64(least) || v > int64(most) { // lua-cjson names the first argument in any case
			in.argError(L, 1, "expected integer between "+strconv.Itoa(least)+" and "+strconv.Itoa(most))
		}
		*setting = int(v)
	}
	L.Push(lua.LNumber(*setting))
}

// jsonChoice sets a setting to the first argument, if any, and pushes it: a
// name, or a boolean for the first two names.
func (in *interp) jsonChoice(L *lua.LState, setting *int, names []string) {
	switch v := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*setting = btoi(bool(v))
	default:
		name := in.checkString(L, 1)
		i := slices.Index(names, resp.CString(name))
		if i < 0 {
			in.argError(L, 1, "invalid option '"+resp.CString(name)+"'")
		}
		*setting = i
	}
	if *setting < 2 {
		L.Push(lua.LBool(*setting == jsonOn))
	} else {
		L.Push(lua.LString(names[*setting]))
	}
}

func (in *interp) cjsonNew(L *lua.LState) int {
	settings := defaultJSON
	functions := jsonLibrary{in, &settings}.functions()
	t := L.CreateTable(0, len(functions)+3)
	for _, name := range libraries["cjson"] {
		t.RawSetString(name, L.NewFunction(functions[name]))
	}
	in.constants("cjson", t)
	L.Push(t)
	return 1
}
