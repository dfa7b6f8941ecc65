package scripting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// hostileScripts could crash a process at some time. Each must return a reply
// and not affect the next script.
var hostileScripts = map[string]string{
	"recursion":          "local function f() return 1+f() end return f()",
	"recursion in pcall": "local function f() return pcall(f) end return f()",
	"recursion caught":   "local function f() return 1+f() end local ok,e=pcall(f) return e",
	"many registers":     "local function f(...) return 1+f(1,2,3,...) end return f()",
	"recursion by index": "local t=setmetatable({},{}) getmetatable(t).__index=function(t,k) " +
		"return t[k] end return t.x",
	"recursion by tostring": "local t=setmetatable({},{}) getmetatable(t).__tostring=function(t) " +
		"return tostring(t) end return tostring(t)",
	"recursion by concat": "local t=setmetatable({},{}) getmetatable(t).__concat=function(a,b) " +
		"return a..b end return t..'x'",
	"recursion by call": "local t=setmetatable({},{}) getmetatable(t).__call=t return t()",
	"index loop":        "local t={} setmetatable(t,{__index=t}) return t.x",
	"newindex loop":     "local t={} setmetatable(t,{__newindex=t}) t.x=1",
	"recursion by gsub": "local function f(s) return (string.gsub(s,'x',f)) end return f('x')",
	"recursion by sort": "local function f() table.sort({3,2,1},function(a,b) f() return a<b " +
		"end) end f()",
	"nested coroutines": "local function f() return coroutine.wrap(f)() end return f()",
	"nested deep coroutines": "local function g(n) if n==0 then return coroutine.wrap(g)(1500) end " +
		"return 1+g(n-1) end return g(1500)",
	"recursion in coroutine": "local function f() return 1+f() end return coroutine.wrap(f)()",
	"deep metamethods in coroutines": "local g local deeper={__index=function(t) return g(rawget(t,'n')-1) " +
		"end} function g(n) if n==0 then return coroutine.wrap(g)(950) end return " +
		"setmetatable({n=n},deeper).x end return g(950)",
	"deep metamethods in pcalls": "local g local deeper={__index=function(t) return g(rawget(t,'n')-1) " +
		"end} function g(n) if n==0 then return pcall(g,19000) end return setmetatable({n=n},deeper).x end " +
		"return g(9000)",
	"coroutine resumes itself": "local co co=coroutine.create(function() return coroutine.resume(co) " +
		"end) return {coroutine.resume(co)}",
	"coroutine never finished": "local co=coroutine.wrap(function() while true do coroutine.yield(1) " +
		"end end) co() return co()",
	"yield in pcall": "return coroutine.wrap(function() return pcall(coroutine.yield) end)()",
	"yield in sort": "return coroutine.wrap(function() table.sort({3,2,1},function(a,b) " +
		"coroutine.yield() end) end)()",
	"yield in gsub": "return coroutine.wrap(function() return " +
		"string.gsub('x','x',coroutine.yield) end)()",
	"yield in metamethod": "return coroutine.wrap(function() return " +
		"setmetatable({},{__index=function() coroutine.yield(1) end}).x end)()",
	"yield in iterator": "return coroutine.wrap(function() for i in function() " +
		"coroutine.yield(1) return nil end do end return 2 end)()",
	"yield outside":         "coroutine.yield()",
	"error in coroutine":    "return coroutine.wrap(function() error({}) end)()",
	"error of a table":      "error({})",
	"error without a value": "error()",
	"error with tostring":   "error(setmetatable({},{__tostring=function() error('x') end}))",
	"tostring of a number": "return tostring(setmetatable({},{__tostring=function() return {} " +
		"end}))",
	"handler fails": "return xpcall(function() error('a') end, function() error('b') end)",
	"handler recurses": "local function h() return h()+1 end return xpcall(function() " +
		"error('a') end, h)",
	"handler is no function": "return xpcall(function() error('a') end, 5)",
	"handler of an overflow": "local function f() return 1+f() end return xpcall(f,function(e) " +
		"return e end)",
	"cyclic reply":        "local t={} t[1]=t return t",
	"cyclic map":          "local t={} t.map={a=t} return t",
	"cyclic keys":         "local t={} t.set={[t]=1} return t",
	"huge rep":            "return #string.rep('x',1e9)",
	"huge rep of nothing": "return #string.rep('',1e9)",
	"negative rep":        "return string.rep('x',-1e300)",
	"unpack range":        "return unpack({},-1e9,1e9)",
	"unpack extremes":     "return unpack({},-2147483648,2147483647)",
	"byte range":          "return string.byte(string.rep('x',20000),1,-1)",
	"concat range":        "return table.concat({},'',1,2147483647)",
	"sort lies": "local t={} for i=1,200 do t[i]=i%7 end table.sort(t,function() " +
		"return true end)",
	"sort sees nil": "table.sort({1,nil,3},function(a,b) return a<b end)",
	"sort shrinks": "local t={5,4,3,2,1} table.sort(t,function(a,b) t[1]=nil return (a " +
		"or 0)<(b or 0) end)",
	"insert far":            "local t={} table.insert(t,1000000,1) return #t",
	"next of a foreign key": "return next({},{})",
	"pairs while deleting": "local t={} for i=1,50 do t[i]=i t['k'..i]=i end for k in pairs(t) " +
		"do t[k]=nil end return next(t)",
	"deep pattern": "return string.find(string.rep('a',20000), " +
		"string.rep('a?',20000)..'b')",
	"deep captures":   "return string.find('a', string.rep('(',40))",
	"bad pattern":     "return string.find('a','[a')",
	"bad pattern end": "return string.find('a','[%')",
	"bad balance":     "return string.find('a','%b')",
	"bad frontier":    "return string.find('a','%f')",
	"bad set range":   "return string.find('a','[a-')",
	"gsub at the end": "return string.gsub('abc','%w*','%0%0')",
	"format far":      "return string.format('%99.99f',1e308)",
	"format too wide": "return string.format('%100d',1)",
	"time of nothing": "return redis.call('get')",
	"no name":         "return redis.call('')",
	"long name":       "return redis.call(string.rep('x',100000))",
	"many arguments": "local t={} for i=1,7000 do t[i]='m'..i end return " +
		"redis.call('del',unpack(t))",
	"set metatable of string": "setmetatable('',{})",
	"getmetatable of string":  "getmetatable('').__index={} return ('x'):rep(2)",
	"rawset of globals":       "rawset(_G,'redis',{})",
	"names of no variables":   "return {_G['(concat)'], rawget(_G,'redis.call')}",
	"load of a function":      "return load(function() error('x') end)",
	"load endless recursion":  "local function f() return load(f) end return f()",
	"loadstring nested": "local s='return 1' for i=1,100 do s='return " +
		"loadstring('..string.format('%q',s)..')()' if #s>1e6 then break end end return loadstring(s)()",
	"dump":                      "return string.dump(function() end)",
	"binary chunk":              "return loadstring('\\27Lua')",
	"ipairs of sealed":          "for i,v in ipairs(redis) do return i end return 'none'",
	"table functions of sealed": "table.sort(redis) return 1",
	"setmetatable of KEYS": "setmetatable(KEYS,{__index=function() return 'x' end}) return " +
		"KEYS[99]",
	"closures after an error": "local f pcall(function() local x=1 f=function() x=x+1 return x end " +
		"error('e') end) return {f(),f()}",
}

func TestHostileScripts(t *testing.T) {
	e, c := newTestEngine(t)
	for name, source := range hostileScripts {
		t.Run(name, func(t *testing.T) {
			reply := evaluate(e, c, resp.RESP2, evalArgs(source))
			require.NotEmpty(t, reply)
			require.NotContains(t, reply, internalError)
			if len(reply) < 300 {
				t.Logf("%q", reply)
			}
			next := evaluate(e, c, resp.RESP2, evalArgs("return {1 .. 'a', KEYS[1], #ARGV}"))
			require.Equal(t, "*3\r\n$2\r\n1a\r\n$1\r\nk\r\n:2\r\n", next)
		})
	}
}

func TestDeepSources(t *testing.T) {
	e, c := newTestEngine(t)
	const n = 100_000
	for name, source := range map[string]string{
		"parentheses": "return " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"braces":      "return " + strings.Repeat("{", n) + strings.Repeat("}", n),
		"not":         "return " + strings.Repeat("not ", n) + "1",
		"minus":       "return " + strings.Repeat("- ", n) + "1",
		"sum":         "return 1" + strings.Repeat("+1", n),
		"power":       "return 1" + strings.Repeat("^1", n),
		"concat":      "return 1" + strings.Repeat("..1", n),
		"and":         "return 1" + strings.Repeat(" and 1", n),
		"calls":       "local f return f" + strings.Repeat("()", n),
		"fields":      "local f return f" + strings.Repeat(".x", n),
		"methods":     "local f return f" + strings.Repeat(":x()", n),
		"elseif":      "if 1 then " + strings.Repeat("elseif 1 then ", n) + "end",
		"blocks":      strings.Repeat("do ", n) + strings.Repeat("end ", n),
		"functions":   strings.Repeat("return function() ", n) + strings.Repeat("end ", n),
		"locals":      strings.Repeat("local a ", n),
		"assignment":  "local a " + strings.Repeat("a,", n) + "a=1",
		"arguments":   "return f(" + strings.Repeat("1,", n) + "1)",
		"table":       "return #{" + strings.Repeat("1,", n) + "1}",
		"nothing":     strings.Repeat(" ", n),
		"quotes":      strings.Repeat("'", n),
		"brackets":    "return " + strings.Repeat("[", n),
		"equals":      "return [" + strings.Repeat("=", n),
		"dots":        "return " + strings.Repeat(".", n),
		"digits":      "return " + strings.Repeat("9", n),
		"name":        "return " + strings.Repeat("a", n),
		"params":      "return function(" + strings.Repeat("a,", n) + "a) end",
		"upvalues": "local a return function() " +
			strings.Repeat("return function() return a end,", 3) + "a end",
	} {
		t.Run(name, func(t *testing.T) {
			reply := evaluate(e, c, resp.RESP2, evalArgs(source))
			require.NotEmpty(t, reply)
			require.NotContains(t, reply, internalError)
			if len(reply) < 300 {
				t.Logf("%q", reply)
			}
		})
	}
}
