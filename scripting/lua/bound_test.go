package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// sealedState returns a state whose library tables are read-only. host.list returns its arguments as a text;
// host.fail raises that.
func sealedState() *lua.State {
	s := luatest.NewState()
	host := lua.NewTable(0, 2)
	for name, raise := range map[string]bool{"list": false, "fail": true} {
		fn := s.Main().NewFunction(func(L *lua.Thread) int {
			text := ""
			for i := range L.Top() {
				text += luatest.Describe(L.Get(i+1)) + ","
			}
			if raise {
				return L.Raise(lua.String(text))
			}
			return L.Return(lua.String(text))
		})
		fn.SetSiteFunction(func(
			_ *lua.Thread, site *lua.CallSite, r *lua.Registers, _ int,
		) (lua.Value, bool) {
			text := ""
			for _, arg := range site.Args {
				v := arg.Constant
				if v.IsNil() {
					v = r[arg.Register]
				}
				text += luatest.Describe(v) + ","
			}
			return lua.String(text), raise
		})
		host.SetString(name, lua.FunctionValue(fn))
	}
	s.Globals.SetString("host", lua.TableValue(host))
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
		"local x = 1 return host.list(x, (function() x = 2 return x end)(), x, 'c', 4, nil, false)",
		"local x, y = 1, 2 return host.list('a', y, x, x + y, host.list(x), string.format('%d', x)), x, y",
		"local a, b = host.list(1) local t = {host.list(1), host.list(2)} host.list(t) return a, b, #t, t[2]",
		"local function f(...) return host.list(...) end return f(1, 2), host.list(f(3), f(4, 5))",
		"local x = 3 return pcall(function() return host.list(x), host.fail(x, 'a') end)",
		"local x = 3 return pcall(host.fail, x), pcall(host.list, x)",
		"local ok, e = pcall(function() local y = host.fail('p', tostring(1)) end) return ok, host.list(e)",
		"local x = 3\nlocal y = x .. host.fail(x)",
		"return select('#', (host.list(1, 2))), host.list(string.sub('abc', 2), string.rep('x', 3))",
		"local t = {} t[host.list(1)], t[2] = host.list(2), host.list('k') return t['1,'], t[2]",
		"return (pcall(function() return host.list(nothing.x) end)), host.list(math.floor('x'))",
	}
	for _, cases := range allCases(t) {
		for _, c := range cases {
			sources = append(sources, c.Source)
		}
	}
	for _, source := range sources {
		bound, plain := sealedState(), sealedState()
		bound.Bind(lua.NewBindings(bound))
		plain.RemoveDirect()
		require.Equal(t, luatest.RunIn(plain, source), luatest.RunIn(bound, source), source)
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
