package scripting

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// memoryBombs allocate without end in different ways.
var memoryBombs = map[string]string{
	"string doubled": "local s='x' while true do s=s..s end",
	"string by one":  "local s=string.rep('x',1e6) while true do s=s..s..'x' end",
	"strings kept":   "local t={} for i=1,1e9 do t[i]=string.rep('x',1000)..i end",
	"parts kept": "local t={} for i=1,1e9 do " +
		"t[i]=string.sub(string.rep('x',10000)..i,1,5000) end",
	"small parts kept": "local t,s={},string.rep('x',1e6) for i=1,40 do t[i]=(s..i):sub(1,3) end " +
		"return 'fine'",
	"array":                  "local t={} for i=1,1e9 do t[i]=i end",
	"array by insert":        "local t={} while true do table.insert(t,1) end",
	"array by length":        "local t={} while true do t[#t+1]=true end",
	"array far":              "local t={} t[4000000]=1",
	"array far by insert":    "local t={} table.insert(t,4000000,1)",
	"array far by rawset":    "local t={} rawset(t,4000000,1)",
	"arrays far":             "local t={} for i=1,1e9 do local u={} u[65000]=1 t[i]=u end",
	"arrays far as constant": "local t={} for i=1,1e9 do t[i]={[65000]=1} end",
	"hash":                   "local t={} for i=1,1e9 do t['k'..i]=true end",
	"hash of fractions":      "local t={} for i=1,1e9 do t[i+.5]=i end",
	"hash emptied":           "local t={} for i=1,1e6 do t['k'..i]=true t['k'..i]=nil end",
	"tables":                 "local t={} while true do t={t} end",
	"tables of fields":       "local t={} while true do t={a=t,b=1,c=2,d=3} end",
	"closures":               "local f while true do local g=f f=function() return g end end",
	"many results": "local t,a={},{} for i=1,7000 do a[i]=i end for i=1,1e9 do " +
		"t[i]={unpack(a)} end",
	"many arguments": "local t,a={},{} for i=1,7000 do a[i]=i end local function f(...) " +
		"t[#t+1]={...} return f(1,...) end f(unpack(a))",
	"coroutines": "local t={} for i=1,1e9 do t[i]=coroutine.create(function() end) end",
	"coroutines wrapped": "local t={} for i=1,1e9 do t[i]=coroutine.wrap(function() coroutine.yield() " +
		"end) t[i]() end",
	"coroutines' locals": "local t={} for i=1,1e9 do t[i]=coroutine.wrap(function() local " +
		"s=string.rep('x',1e5)..i coroutine.yield() return s end) t[i]() end",
	"recursion": "local function f(s) return f(s..s)..s end return f('xx')",
	"recursion in pcall": "local function f(...) return pcall(f,1,2,3,4,5,...) end local a={} for " +
		"i=1,7000 do a[i]=i end f(unpack(a))",
	"metatables":         "local t={} while true do t=setmetatable({},{__index=t}) end",
	"upvalues of gmatch": "local t={} for i=1,1e9 do t[i]=string.gmatch(string.rep('x',1e5)..i,'y') end",
	"rep":                "return #string.rep('x',1e9)",
	"rep of much":        "return #string.rep(string.rep('x',1e6),1e6)",
	"concat": "local t,s={},string.rep('x',1e5) for i=1,100000 do t[i]=s end return " +
		"#table.concat(t)",
	"concat separated": "local t={} for i=1,10000 do t[i]='' end return " +
		"#table.concat(t,string.rep('x',1e6))",
	"gsub":             "local s=string.rep('x',1e5) return #string.gsub(s,'x',s)",
	"gsub of captures": "local s=string.rep('x',1e6) return #string.gsub(s,'.+',string.rep('%0',1000))",
	"gsub by function": "local s=string.rep('x',1e5) return #string.gsub(s,'x',function() return s " +
		"end)",
	"gsub nested": "local s=string.rep('x',1e4) local function f(n) return " +
		"(string.gsub(s,'x',function() return n>0 and f(n-1) or s end)) end return #f(20)",
	"format": "local s=string.rep('x',1e6) return " +
		"#string.format(string.rep('%s',5000),unpack((function() local t={} for i=1,5000 do t[i]=s end " +
		"return t end)()))",
	"quoted":       "local s=string.rep('\\n',1e6) while true do s=string.format('%q',s) end",
	"upper":        "local t,s={},string.rep('x',1e6) for i=1,1e9 do t[i]=string.upper(s) end",
	"reverse":      "local t,s={},string.rep('x',1e6) for i=1,1e9 do t[i]=string.reverse(s) end",
	"cjson.encode": "local t={} for i=1,30 do t={t,t} end return #cjson.encode(t)",
	"cjson.encode of text": "local s=string.rep('\\1',1e5) local t={} for i=1,1e4 do t[i]=s end return " +
		"#cjson.encode(t)",
	"cjson.decode": "return #cjson.decode('['..string.rep('[1],',4e5)..'1]')",
	"cjson.decode kept": "local t,s={},'['..string.rep('{\"a\":1},',1e4)..'1]' for i=1,1e9 do " +
		"t[i]=cjson.decode(s) end",
	"struct.pack": "local a,s={},string.rep('x',1e6) for i=1,1000 do a[i]=s end return " +
		"#struct.pack(string.rep('c0',1000),unpack(a))",
	"struct.pack kept": "local t={} for i=1,1e9 do t[i]=struct.pack('c0',string.rep('x',1e5)) end",
	"cmsgpack.pack":    "local t={} for i=1,10 do t={t,t,t,t,t,t} end return #cmsgpack.pack(t)",
	"cmsgpack.pack of text": "local t,s={},string.rep('x',1e6) for i=1,1000 do t[i]=s end return " +
		"#cmsgpack.pack(t)",
	"cmsgpack.pack caught": "local t,s,ok,e={},string.rep('x',1e6) for i=1,1000 do t[i]=s end for i=1,50 " +
		"do ok,e=pcall(cmsgpack.pack,t) end local u=string.rep('y',1e5)..'z' return e..#u",
	"cmsgpack.unpack": "return #cmsgpack.unpack('\\221\\0\\15\\66\\64'..string.rep('\\204\\200',1e6))",
	"cmsgpack.unpack pairs": "local p={'\\223\\0\\1\\134\\160'} for i=1,1e5 do " +
		"p[#p+1]=struct.pack('>BI4B',206,i+1e7,1) end p=table.concat(p) return type(cmsgpack.unpack(p))",
	"cmsgpack.unpack " +
		"nested": "return cmsgpack.unpack('\\221\\0\\15\\66\\64'..string.rep('\\145\\145\\144',1e6))",
	"cmsgpack.unpack far": "local t={} for i=1,1e9 do " +
		"t[i]=cmsgpack.unpack('\\129\\206\\0\\1\\0\\0\\1') end",
	"load": "return load(function() return string.rep('x',1e6) end)",
	"dump kept": "local t,f={},loadstring('return {'..string.rep('\\'xxx\\',',1000)..'1}') " +
		"for i=1,1e9 do t[i]=string.dump(f) end",
	"loadstring": "return loadstring(string.rep('x=1 ',1e6))",
	"loadstring kept": "local t={} for i=1,1e9 do t[i]=loadstring('return " +
		"{'..string.rep('1,',1000)..'}') end",
	"reply":          "local t={} for i=1,10 do t[i]=t end return t",
	"reply of a map": "local t={} t.map={} for i=1,10 do t.map[i]=t end return t",
	"reply wide": "local t,s={},string.rep('x',100) for i=1,1e5 do t[i]=s end local u={} for " +
		"i=1,1e5 do u[i]=t end return u",
	"errors": "local s=string.rep('x',1e6) while true do local ok,e=pcall(error,s,1) " +
		"s=e..s end",
	"caught": "local t={} while pcall(function() for i=1,1e5 do t[#t+1]={} end end) do end " +
		"error('ended')",
}

func heapBytes() uint64 {
	sample := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(sample)
	return sample[0].Value.Uint64() + sample[1].Value.Uint64()
}

// TestMemoryBombs checks that the heap grows by at most the limit and 64 MB, as
// measured at every poll.
func TestMemoryBombs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector multiplies the memory that is measured")
	}
	const limit = 6 << 20
	base, peak := uint64(0), uint64(0)
	e, c := newTestEngine(t)
	e.options.MemoryLimit = func() int64 { return limit }
	e.runs = newRunTracker(func() int64 { peak = max(peak, heapBytes()); return 0 },
		func() int64 { return 1 })
	for name, source := range memoryBombs {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			base, peak = heapBytes(), 0
			reply := evaluate(e, c, resp.RESP2, evalArgs(source))
			peak = max(peak, heapBytes())
			t.Logf("%d MB more at the peak: %.100q", (int64(peak)-int64(base))>>20, reply)
			require.Less(t, int64(peak)-int64(base), int64(limit+64<<20))
			if want, ends := endings[name]; ends {
				require.Equal(t, want, reply)
			} else {
				require.Contains(t, reply, errNoMemory)
			}
			require.Equal(t, "$2\r\n1a\r\n", evaluate(e, c, resp.RESP2, evalArgs("return 1 .. 'a'")))
		})
	}
}

// endings are the replies to bombs that do not run out of memory.
var endings = map[string]string{
	"small parts kept":     "$4\r\nfine\r\n",
	"cmsgpack.pack caught": "$23\r\nnot enough memory100001\r\n",
	"loadstring":           "$-1\r\n",
	"array far":            "$-1\r\n", // one field
	"array far by insert":  "$-1\r\n",
	"array far by rawset":  "$-1\r\n",
	"hash emptied":         "$-1\r\n", // the room of removed keys is used again
	"recursion in pcall":   "$-1\r\n", // the error is caught
}

// TestNothingIsHeldAfterAScript checks that a pooled state keeps nothing large of the script that it has run.
func TestNothingIsHeldAfterAScript(t *testing.T) {
	const size = 16 << 20
	if race.Enabled {
		t.Skip("the race detector multiplies the memory that is measured")
	}
	e, c := newTestEngine(t)
	limit := int64(0)
	e.options.MemoryLimit = func() int64 { return limit }
	run := func(source string) { evaluate(e, c, resp.RESP2, evalArgs(source)) }
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	// What is in the arena is emptied anyway.
	const used = "local t = {} " +
		"for i = 1, 100 do local j = i t[i] = function() return j end end "
	for name, source := range map[string]string{
		"a register":             "local function f() local s = LONG end f() return 1",
		"an error":               "error(LONG)",
		"a caught error":         "pcall(error, LONG) return 1",
		"an error of a function": "pcall(function() error(LONG) end) return 1",
		"a closure":              used + "local s = LONG local function f() return #s end f() return 1",
		"a handler": used + "local s = LONG " +
			"xpcall(function() pcall(function() end) end, function() return s end)",
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit = range []int64{0, 256 << 20} {
				run("return 1")
				before := held()
				run(strings.Replace(source, "LONG", "string.rep('x', 16 * 1024 * 1024)", 1))
				require.Less(t, held()-before, int64(size/2), "limit %d", limit)
			}
		})
	}
}
