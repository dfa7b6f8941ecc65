package lua_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
)

// endless are sources that never end by themselves.
var endless = map[string]string{
	"while":               "while true do end",
	"repeat":              "repeat until false",
	"numeric for":         "for i = 1, math.huge do end",
	"for without a step":  "for i = 2, 1, 0 do end",
	"generic for":         "for _ in function() return 1 end do end",
	"next":                "local t = {1} while true do for k in pairs(t) do end end",
	"tail calls":          "local function f() return f() end f()",
	"calls":               "local function f() end while true do f() end",
	"pcall":               "pcall(function() while true do end end)",
	"pcall in a loop":     "while true do pcall(function() while true do end end) end",
	"pcall of pcall":      "while true do pcall(pcall, error) end",
	"recursive pcall":     "local function f() while true do pcall(f) end end f()",
	"xpcall's handler":    "xpcall(error, function() while true do end end)",
	"xpcall in a handler": "local function h() xpcall(error, h) end while true do xpcall(error, h) end",
	"coroutine":           "coroutine.wrap(function() while true do end end)()",
	"coroutine and pcall": "coroutine.wrap(function() while true do pcall(function() while true do end end) end end)()",
	"yields":              "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end",
	"new coroutines":      "while true do coroutine.wrap(function() end)() end",
	"gsub's function":     "('x'):gsub('x', function() while true do end end)",
	"gsubs":               "while true do ('x'):rep(100):gsub('.', '%0%0') end",
	"sort's comparison":   "table.sort({2, 1}, function() while true do end end)",
	"sorts":               "local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t) end",
	"metamethod":          "local t = setmetatable({}, {__index = function() while true do end end}) local x = t.x",
	"__lt in sort":        "local m = {__lt = function() while true do end end} table.sort({setmetatable({}, m), setmetatable({}, m)})",
	"__tostring":          "tostring(setmetatable({}, {__tostring = function() while true do end end}))",
	"__concat":            "local t = setmetatable({}, {__concat = function() while true do end end}) local x = t .. 'x'",
	"load's reader":       "load(function() return ' ' end)",
	"loadstring":          "while true do loadstring('return 1')() end",
	"foreach":             "table.foreach({1}, function() while true do end end)",
	"pattern":             "('a'):rep(300000):find(('.-'):rep(20) .. 'b')",
	"pattern of stars":    "('a'):rep(300000):find(('a*'):rep(20) .. 'b')",
	"pattern of captures": "('a'):rep(3000):find(('(a*)'):rep(30) .. '%1b')",
	"balanced pattern":    "('('):rep(300000):find('%b()')",
	"find":                "local s = ('a'):rep(1e6) while true do s:find('b', 1, true) end",
	"rep":                 "while true do local s = ('x'):rep(1e6) end",
	"concatenation":       "local s = ('x'):rep(1e5) while true do local t = s .. s end",
	"concat":              "local t = {} for i = 1, 1000 do t[i] = 'x' end while true do table.concat(t) end",
	"insert":              "local t = {} for i = 1, 10000 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
	"unpack":              "local t = {} for i = 1, 7000 do t[i] = i end while true do local a = unpack(t) end",
	"format":              "while true do string.format('%99d', 1) end",
	"upper":               "local s = ('x'):rep(1e6) while true do s:upper() end",
	"byte":                "local s = ('x'):rep(7000) while true do s:byte(1, -1) end",
	"maxn":                "local t = {} for i = 1, 10000 do t[i] = i end while true do table.maxn(t) end",
	"length":              "local t = {} for i = 1, 10000 do t[i] = i end while true do local n = #t end",
	"comparison":          "local a, b = ('x'):rep(1e6), ('x'):rep(1e6) while true do local c = a < b end",
	"equality":            "local a, b = ('x'):rep(1e6) .. 'a', ('x'):rep(1e6) .. 'b' while true do local c = a == b end",
	"long keys":           "local a, b = ('x'):rep(1e6) .. 1, ('x'):rep(1e6) .. 1 local t = {[a] = 1} while true do t[b] = t[a] end",
	"rawget of long keys": "local a, b = ('x'):rep(1e6) .. 1, ('x'):rep(1e6) .. 1 local t = {[a] = 1} while true do rawget(t, b) end",
	"next of long keys":   "local a, b = ('x'):rep(1e6) .. 1, ('x'):rep(1e6) .. 1 local t = {[a] = 1} while true do next(t, b) end",
	"closures":            "while true do local x = 1 local f = function() return x end end",
	"errors":              "while true do pcall(error, {}) end",
	"chains of __index":   "local t = {} for i = 1, 90 do t = setmetatable({}, {__index = t}) end while true do local x = t.x end",
	"select":              "local function f(...) return select('#', ...) end while true do f(unpack({}, 1, 7000)) end",
	"varargs":             "local function f(...) local t = {...} return #t end while true do f(unpack({}, 1, 7000)) end",
}

// TestEndlessSources lets sources that do not end run out of steps: neither a pcall nor a coroutine catches
// the end, and no more than a lot of steps follow.
func TestEndlessSources(t *testing.T) {
	for name, source := range endless {
		t.Run(name, func(t *testing.T) {
			s := newState()
			polls := 0
			s.Steps = 1000
			s.Poll = func() string {
				if polls++; polls < 100 {
					s.Steps = 1000
					return ""
				}
				s.Steps = 0
				return "stopped"
			}
			s.Measure = func(n int64) string { s.Room = 1 << 30; return "" }
			require.Equal(t, "stopped", runIn(s, source+" return 'ended'"))
			require.LessOrEqual(t, polls, 101)
		})
	}
}

// bombs are sources that want more memory than there is. Each ends with Lua's error for that.
var bombs = map[string]string{
	"doubling":          "local s = 'x' while true do s = s .. s end",
	"rep":               "local n = #('x'):rep(2^31)",
	"rep of rep":        "local n = #('x'):rep(1e5):rep(1e5)",
	"rep, kept":         "local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(1e5) .. i end",
	"elements":          "local t = {} for i = 1, 1e9 do t[i] = i end",
	"fields":            "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
	"floats":            "local t = {} for i = 1, 1e9 do t[i + 0.5] = i end",
	"insert":            "local t = {} while true do table.insert(t, 1) end",
	"rawset":            "local t, i = {}, 0 while true do i = i + 1 rawset(t, i, i) end",
	"tables":            "local t = {} while true do t = {t} end",
	"closures":          "local f while true do local g = f f = function() return g end end",
	"coroutines":        "local t = {} for i = 1, 1e9 do t[i] = coroutine.create(function() end) end",
	"suspended":         "local t = {} for i = 1, 1e9 do t[i] = coroutine.wrap(function() coroutine.yield() end) t[i]() end",
	"gsub":              "local s = ('x'):rep(1e5) local n = #s:gsub('x', s)",
	"gsub's function":   "local s = ('x'):rep(1e5) local n = #s:gsub('x', function() return s end)",
	"gsub's table":      "local s = ('x'):rep(1e5) local n = #s:gsub('x', {x = s})",
	"concat":            "local t, s = {}, ('x'):rep(1e5) for i = 1, 1e5 do t[i] = s end local n = #table.concat(t)",
	"concat, separator": "local t = {} for i = 1, 1e5 do t[i] = '' end local n = #table.concat(t, ('x'):rep(1e5))",
	"format":            "local s = ('x'):rep(1e6) local n = #string.format(('%s'):rep(200), unpack((function() local t = {} for i = 1, 200 do t[i] = s end return t end)()))",
	"format %q":         "local s = ('\"'):rep(1e6) local t = {} for i = 1, 1e3 do t[i] = string.format('%q', s) end",
	"upper":             "local s, t = ('x'):rep(1e6), {} for i = 1, 1e6 do t[i] = s:upper() end",
	"reverse":           "local s, t = ('x'):rep(1e6), {} for i = 1, 1e6 do t[i] = s:reverse() end",
	"sub":               "local s, t = ('x'):rep(1e6), {} for i = 1, 1e6 do t[i] = s:sub(2, 4e5) end",
	"captures":          "local s, t = ('x'):rep(1e6), {} for i = 1, 1e6 do t[i] = s:match('(.*)x') .. i end",
	"load":              "load(function() return ('x'):rep(1e6) end)",
	"loadstring":        "local t = {} for i = 1, 1e9 do t[i] = loadstring('local a = {1, 2, 3} return a') end",
	"varargs":           "local t = {} local function f(...) t[#t + 1] = {...} return f(1, ...) end f()",
	"upvalues":          "local t = {} for i = 1, 1e9 do local x = i t[i] = function() x = x + 1 end end",
	"dump":              "local s = string.dump(loadstring('return ' .. ('\"' .. ('x'):rep(1000) .. '\",'):rep(200) .. '1')) local t = {} for i = 1, 1e9 do t[i] = s .. i end",
	"numbers as text":   "local t = {} for i = 1, 1e9 do t[i] = tostring(i) end",
	"error values":      "local e = {} for i = 1, 1e9 do e = {select(2, pcall(error, e))} end",
	"messages":          "local e = 'x' while true do e = select(2, pcall(error, e .. e)) end",
	"setn":              "local t = {} for i = 1, 1e9 do t[-i] = i end",
	"string.char":       "local t = {} for i = 1, 1e9 do t[i] = string.char(i % 256, i % 255, i % 254, 65, 66, 67) .. i end",
	"gmatch":            "local t, s = {}, ('x'):rep(1e6) for i = 1, 1e9 do t[i] = s:gmatch('.') end",
}

// TestBombs lets sources run into the memory limit. What the meter has counted must bound what Go has
// allocated.
func TestBombs(t *testing.T) {
	const limit, factor = 64 << 20, 4
	for name, source := range bombs {
		t.Run(name, func(t *testing.T) {
			s := newState()
			s.Steps = 1 << 40
			s.Room = limit
			s.Measure = func(int64) string { s.Room = 0; return "not enough memory" }
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			result := runIn(s, source+" return 'ended'")
			runtime.ReadMemStats(&after)
			require.Equal(t, "error not enough memory", result)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(factor*limit))
			require.Less(t, s.Scratch(), int64(1<<20))
			s.Room = limit
			require.Equal(t, "ok 1", runIn(s, "return 1"), "the state can be used again")
		})
	}
}

// TestMemoryErrorIsCaught lets a source catch the error and go on.
func TestMemoryErrorIsCaught(t *testing.T) {
	s := newState()
	s.Room = 8 << 20
	s.Measure = func(n int64) string {
		s.Room = 1 << 20
		if n > 1<<20 {
			return "not enough memory"
		}
		return ""
	}
	require.Equal(t, "ok false not enough memory 3",
		runIn(s, "local ok, e = pcall(string.rep, 'x', 1e8) local t = {1, 2, 3} return ok, e, #t"))
}

// TestStacks compares what happens at the limits of the stacks with lua5.1.
func TestStacks(t *testing.T) {
	r := reference(t)
	for name, source := range map[string]string{
		"recursion":       "local function f() return 1 + f() end return pcall(f)",
		"in a coroutine":  "local function f() return 1 + f() end return coroutine.resume(coroutine.create(f))",
		"__index":         "local t t = setmetatable({}, {__index = function(_, k) return t[k] end}) return pcall(function() return t.x end)",
		"__newindex":      "local t t = setmetatable({}, {__newindex = function(_, k, v) t[k] = v end}) return pcall(function() t.x = 1 end)",
		"__call":          "local t t = setmetatable({}, {__call = function() return 1 + t() end}) return pcall(t)",
		"__add":           "local t t = setmetatable({}, {__add = function() return t + 1 end}) return pcall(function() return t + 1 end)",
		"__concat":        "local t t = setmetatable({}, {__concat = function() return t .. 1 end}) return pcall(function() return t .. 1 end)",
		"__eq":            "local m = {} local a, b = setmetatable({}, m), setmetatable({}, m) m.__eq = function() return a == b end return pcall(function() return a == b end)",
		"__lt":            "local m = {} local a, b = setmetatable({}, m), setmetatable({}, m) m.__lt = function() return a < b end return pcall(function() return a < b end)",
		"__unm":           "local t t = setmetatable({}, {__unm = function() return -t end}) return pcall(function() return -t end)",
		"__tostring":      "local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) return pcall(tostring, t)",
		"gsub":            "local function f() return (('x'):gsub('x', f)) end return pcall(f)",
		"sort":            "local function f() table.sort({2, 1}, f) end return pcall(f)",
		"foreach":         "local function f() table.foreach({1}, f) end return pcall(f)",
		"pcall":           "local n = 0 local function f() n = n + 1 return pcall(f) end local r = {f()} return r[#r]",
		"pcall and error": "local n = 0 local function f() n = n + 1 local ok, e = pcall(f) error(e, 0) end return pcall(f)",
		"xpcall":          "local function f() return xpcall(f, function(e) return e end) end local r = {f()} return r[#r]",
		"handler":         "local function h(e) error(e) end return xpcall(error, h)",
		"handler, deep":   "local function h(e) local function r() return 1 + r() end return r() end return xpcall(error, h)",
		"handler at the end": "local function f() return 1 + f() end " +
			"return xpcall(f, function(e) local function d(n) if n == 0 then return 0 end return 1 + d(n - 1) end return e, d(100) end)",
		"coroutines": "local function f() return coroutine.wrap(f)() end " +
			"return (string.gsub(select(2, pcall(f)), '^.*: ', ''))",
		"resume within": "local co co = coroutine.create(function() return coroutine.resume(co) end) return coroutine.resume(co)",
		"wrap within":   "local f f = coroutine.wrap(function() return f() end) return pcall(f)",
		"unpack":        "return pcall(unpack, {}, 1, 7990)",
		"too many":      "return pcall(unpack, {}, 1, 1e6)",
		"arguments":     "local function f(...) return select('#', ...) end return f(unpack({}, 1, 7000))",
		"byte":          "return pcall(string.byte, ('x'):rep(1e5), 1, -1)",
		"loop of __index": "local t = {} for i = 1, 101 do t = setmetatable({}, {__index = t}) end " +
			"return pcall(function() return t.x end)",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := r.Run(source)
			require.NoError(t, err)
			got := run(source)
			if len(want) > 300 {
				got, want = got[:min(300, len(got))], want[:300]
			}
			require.Equal(t, want, got)
		})
	}
}

// TestBytecodeIsRefused loads what string.dump returns, and C Lua's header.
func TestBytecodeIsRefused(t *testing.T) {
	require.Contains(t, run("return loadstring(string.dump(function() end))"), "unexpected symbol near 'char(27)'")
	require.Contains(t, run("\x1bLua"), "unexpected symbol near 'char(27)'")
}

// TestErrorObjects lets a host see what an error that is no text was.
func TestErrorObjects(t *testing.T) {
	s := newState()
	fn, err := s.Load("error({code = 7})", "@user_script")
	require.NoError(t, err)
	L := s.Main()
	L.Push(lua.FunctionValue(fn))
	e := L.PCall(0, lua.Nil)
	require.NotNil(t, e)
	require.True(t, e.Value.IsTable())
	code := e.Value.Table().GetString("code")
	require.InDelta(t, 7, code.Num(), 0)
	require.Equal(t, "@user_script", e.Source)
	require.Equal(t, 1, e.Line)
	require.Zero(t, L.Top())
}
