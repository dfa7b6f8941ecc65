package redislib

import (
	"math"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

// jsonSettings are the settings of cjson. In Redis they outlive the script; here each script starts with the
// defaults.
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

// A jsonLibrary is one set of cjson's functions with shared settings: cjson itself, or the result of
// cjson.new.
type jsonLibrary struct {
	libraries *Libraries
	*jsonSettings
}

func (l *Libraries) openJSON(s *lua.State) *lua.Table { return jsonLibrary{l, &l.json}.open(s) }

func (j jsonLibrary) open(s *lua.State) *lua.Table {
	t := newLibrary(s, j.entries())
	t.SetString("null", j.libraries.null)
	t.SetString("_NAME", lua.String("cjson"))
	t.SetString("_VERSION", lua.String("2.1.0"))
	return t
}

func (j jsonLibrary) entries() []lua.Entry {
	s := j.jsonSettings
	number := func(name string, setting *int, least, most int) lua.Entry {
		return lua.Entry{Name: name, Fn: func(L *lua.Thread) int {
			jsonArgs(L, 1)
			jsonInt(L, setting, 1, least, most)
			return 1
		}}
	}
	choice := func(name string, setting *int, choices ...string) lua.Entry {
		return lua.Entry{Name: name, Fn: func(L *lua.Thread) int {
			jsonArgs(L, 1)
			jsonChoice(L, setting, choices)
			return 1
		}}
	}
	return []lua.Entry{
		{Name: "encode", Fn: j.encode},
		{Name: "decode", Fn: j.decode},
		{Name: "encode_sparse_array", Fn: func(L *lua.Thread) int {
			jsonArgs(L, 3)
			jsonChoice(L, &s.sparseConvert, []string{"off", "on"})
			jsonInt(L, &s.sparseRatio, 2, 0, math.MaxInt32)
			jsonInt(L, &s.sparseSafe, 3, 0, math.MaxInt32)
			return 3
		}},
		number("encode_max_depth", &s.encodeDepth, 1, math.MaxInt32),
		number("decode_max_depth", &s.decodeDepth, 1, math.MaxInt32),
		number("encode_number_precision", &s.precision, 1, 14),
		choice("encode_keep_buffer", &s.keepBuffer, "off", "on"),
		choice("encode_invalid_numbers", &s.encodeInvalid, "off", "on", "null"),
		choice("decode_invalid_numbers", &s.decodeInvalid, "off", "on"),
		{Name: "new", Fn: j.libraries.newJSON},
	}
}

func (l *Libraries) newJSON(L *lua.Thread) int {
	const size = 4 << 10 // of the table and its functions
	L.Grow(size)
	settings := defaultJSON
	return L.Return(lua.TableValue(jsonLibrary{l, &settings}.open(L.State())))
}

// jsonArgs pads the arguments with nil to n, and refuses more.
func jsonArgs(L *lua.Thread, n int) {
	if L.Top() > n {
		L.ArgError(n+1, "found too many arguments")
	}
	L.SetTop(n)
}

// jsonInt sets a setting to the nth argument, if any, and pushes it.
func jsonInt(L *lua.Thread, setting *int, n, least, most int) {
	if v := L.Get(n); !v.IsNil() {
		i := lua.ToInteger(L.CheckNumber(n))
		if i < int64(least) || i > int64(most) { // lua-cjson names the first argument in any case
			L.ArgError(1, "expected integer between "+strconv.Itoa(least)+" and "+strconv.Itoa(most))
		}
		*setting = int(i)
	}
	L.PushNumber(float64(*setting))
}

// jsonChoice sets a setting to the first argument, if any, and pushes it: a name, or a boolean for the first
// two names.
func jsonChoice(L *lua.Thread, setting *int, names []string) {
	switch v := L.Get(1); v.Kind() {
	case lua.KindNil:
	case lua.KindBool:
		*setting = btoi(v.Truthy())
	default:
		name := resp.CString(L.CheckString(1))
		i := slices.Index(names, name)
		if i < 0 {
			L.ArgError(1, "invalid option '"+name+"'")
		}
		*setting = i
	}
	if *setting < 2 {
		L.PushBool(*setting == jsonOn)
	} else {
		L.PushString(names[*setting])
	}
}
