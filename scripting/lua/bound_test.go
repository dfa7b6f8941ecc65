package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// sealedState returns a state whose library tables are read-only.
func sealedState() *lua.State {
	s := newState()
	for key, v, _ := s.Globals.Next(lua.Nil); !key.IsNil(); key, v, _ = s.Globals.Next(key) {
		if v.IsTable() && v.Table() != s.Globals {
			v.Table().SetReadOnly(true)
		}
	}
	s.Random.Seed(1)
	return s
}

// TestBoundCodeIsTheSame compares code that finds library functions by number, and calls
// some of them without a frame, with code that looks everything up.
func TestBoundCodeIsTheSame(t *testing.T) {
	sources := []string{
		"return tonumber('0x10'), tonumber('1e2'), tonumber(' 7 '), tonumber('00012') .. '', tonumber({})",
		"local n = tonumber('1234567890123') return tostring(n), n .. '', tostring(n + 1), tostring(n)",
		"local n = tonumber('012345678901') return tostring(n), n .. ''",
		"return math.floor('2.5'), math.floor(-0.5), math.abs(0/0), math.ceil(-0.5), string.len(12)",
		"local f = nil return math.floor(f)",
		"return string.len({})",
		"return type(tostring(tonumber('3'))), (tostring(tonumber('x')))",
		"local t = setmetatable({}, {__tostring = function() return 'mine' end}) return tostring(t)",
		"local t = setmetatable({}, {__tostring = function() error('no') end}) return pcall(tostring, t)",
		"local t = setmetatable({}, {__tostring = function() error('no') end})\nreturn tostring(t)",
		"return string[1], math[2], (pcall(function() return string[1].x end))",
		"return string[1].x",
		"local x = 1 x = tonumber(tostring(x) .. '0') return x, tostring(x)",
		"return (function(...) return tostring(...) end)(5)",
		"local a, b = tostring(1) return a, b",
		"tostring(1) type(2) return #{tostring(1), tostring(2)}",
		"return select('#', tostring(nil))",
	}
	for i := range 150 {
		sources = append(sources, luatest.Program(*seed+uint64(i)))
	}
	for _, source := range sources {
		bound := sealedState()
		bound.Bind(lua.NewBindings(bound))
		require.Equal(t, runIn(sealedState(), source), runIn(bound, source), source)
	}
}

// TestUnboundNames runs code after its bindings are gone.
func TestUnboundNames(t *testing.T) {
	s := sealedState()
	s.Bind(lua.NewBindings(s))
	fn, err := s.Load("return tonumber(string[1] or '12') + 1", "@user_script")
	require.NoError(t, err)
	s.Unbind()
	v := s.Main()
	v.Push(lua.FunctionValue(fn))
	require.Nil(t, v.Run(0))
	result := v.Get(-1)
	require.Equal(t, 13.0, result.Num())
}
