package scripting

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// probe lists everything that a script can reach, with types, and with the
// values of numbers.
const probe = `
local out, seen = {}, {}
local function walk(t, path)
  if seen[t] then return end
  seen[t] = true
  local keys = {}
  for k, v in pairs(t) do
    local text = type(v) == 'number' and tostring(v) or ''
    keys[#keys + 1] = tostring(k) .. ' ' .. type(v) .. ' ' .. text
  end
  table.sort(keys)
  for _, k in ipairs(keys) do out[#out + 1] = path .. k end
  for k, v in pairs(t) do if type(v) == 'table' then walk(v, path .. tostring(k) .. '.') end end
  local mt = getmetatable(t)
  if type(mt) == 'table' then walk(mt, path .. '(meta).') end
end
walk(_G, '') walk(getmetatable(''), 'string.')
out[#out + 1] = cjson.encode({1.5, {}}) .. #KEYS .. #ARGV .. type(redis.call('get', 'nokey'))
return table.concat(out, '\n')`

// intruders are scripts that try to leave a trace.
var intruders = []string{
	"x = 1", "_G.x = 1", "rawset(_G, 'x', 1)", "pcall(rawset, _G, 'x', 1)", "redis.x = 1", "redis.call = nil",
	"KEYS.x = 1 ARGV = nil",
	"KEYS[1] = nil KEYS[5] = 1", "setmetatable(KEYS, {__index = function() return 1 end})",
	"setmetatable(ARGV, {__len = function() return 9 end})",
	"getmetatable('').__index = {}", "getmetatable('').__add = function() end", "setmetatable(_G, nil)",
	"getmetatable(_G).__index = nil",
	"table.insert(redis, 1)", "table.insert(_G, 1)", "table.sort(_G)", "table.remove(string)",
	"string.format = nil", "function string.rep() end",
	"cjson.encode_max_depth(1)", "cjson.encode_number_precision(1)", "cjson.null = 1", "redis.setresp(3)",
	"math.randomseed(1)",
	"redis.call('select', 5)", "error('x')", "error({})", "local function f() return 1 + f() end f()",
	"pcall(error)",
	"coroutine.wrap(function() coroutine.yield() end)()", "coroutine.wrap(function() error('x') end)()",
	"coroutine.yield()",
	"local t = {} for i = 1, 5000 do t[i] = i end return unpack(t)", "return string.rep('x', 1000000)",
	"loadstring('y = 1')()", "loadstring('redis = nil')()",
	"xpcall(function() error('x') end, function() error('y') end)",
	"for k in pairs(_G) do pcall(function() _G[k] = nil end) end", "local g = _G; g.redis = 1",
	"pcall(function() local a = 1; error(function() return a end) end)",
	"redis.call('set', 'k', 'v') redis.call('incr', 'k')",
	"return {1, {2, {3}}}", "goto x", "local x <const> = 1",
}

// evaluateIn is evaluate in a given interpreter state.
func evaluateIn(t *testing.T, in *interp, c *commands.Ctx, source string) string {
	c.Proto = resp.RESP2
	c.Reset()
	s, err := in.engine.scripts.load([]byte(source))
	if err != nil {
		return err.Error()
	}
	keys, args, refusal := splitKeys(evalArgs(source))
	require.Empty(t, refusal)
	reply := in.run(c, s, false, keys, args)
	return string(resp.Append(nil, &reply, resp.RESP2))
}

func TestScriptsLeaveNoTrace(t *testing.T) {
	e, c := newTestEngine(t)
	in := newInterp(e, false)
	want := evaluateIn(t, in, c, probe)
	require.Contains(t, want, ".call function") // of redis or server, which are one table
	for _, source := range intruders {
		evaluateIn(t, in, c, source)
		if in.unusable {
			in = newInterp(e, false) // as Engine does
		}
		require.Equal(t, want, evaluateIn(t, in, c, probe), source)
		require.Zero(t, in.state.Main().Top(), source)
		require.Nil(t, in.child.Store, source)
	}
}

func TestProbeSeesATrace(t *testing.T) {
	e, c := newTestEngine(t)
	in := newInterp(e, false)
	want := evaluateIn(t, in, c, probe)
	in.state.Globals.SetString("leak", in.state.Globals.GetString("redis"))
	require.NotEqual(t, want, evaluateIn(t, in, c, probe))
}

func TestConcurrentScripts(t *testing.T) {
	e, c := newTestEngine(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s := store.New() // a store for each goroutine, because locks are taken by sessions
			own := &commands.Ctx{Scope: c.Scope}
			own.Store, own.DB, own.Env = s, s.DB(0), nil
			for i := range 200 {
				want := strconv.Itoa(g*1000 + i)
				source := fmt.Sprintf("local x = pcall(error) redis.call('set', KEYS[1], %s) return "+
					"redis.call('get', KEYS[1]) .. ''", want)
				if i%2 == 0 {
					source = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])"
				}
				args := [][]byte{[]byte("EVAL"), []byte(source), []byte("1"), []byte("k"), []byte(want)}
				got := evaluate(e, own, resp.RESP2, args)
				if got != fmt.Sprintf("$%d\r\n%s\r\n", len(want), want) {
					t.Errorf("%q instead of %s", got, want)
				}
				if i%50 == 0 {
					evaluate(e, own, resp.RESP2, [][]byte{[]byte("SCRIPT"), []byte("FLUSH")})
				}
			}
		})
	}
	wg.Wait()
}

func TestScriptCommands(t *testing.T) {
	e, c := newTestEngine(t)
	call := func(args ...string) string {
		var b [][]byte
		for _, a := range args {
			b = append(b, []byte(a))
		}
		return evaluate(e, c, resp.RESP2, b)
	}
	const sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" // return 1
	const noScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n"
	// Replies of redis-server 7.0.15, in this order.
	for _, step := range []struct {
		want string
		args []string
	}{
		{noScript, []string{"EVALSHA", sha, "0"}},
		{"-ERR value is not an integer or out of range\r\n", []string{"EVAL", "return 1", "x"}},
		{"-ERR value is not an integer or out of range\r\n", []string{"EVAL", "return 1", "1.5"}},
		{
			"-ERR value is not an integer or out of range\r\n",
			[]string{"EVAL", "return 1", "99999999999999999999"},
		},
		{"-ERR Number of keys can't be negative\r\n", []string{"EVAL", "return 1", "-1"}},
		{
			"-ERR Number of keys can't be greater than number of args\r\n",
			[]string{"EVAL", "return 1", "2", "a"},
		},
		{"-ERR wrong number of arguments for 'eval' command\r\n", []string{"EVAL", "return 1"}},
		{noScript, []string{"EVALSHA", "x", "x"}},
		{"-ERR value is not an integer or out of range\r\n", []string{"EVALSHA", sha, "x"}},
		{":1\r\n", []string{"EVAL", "return 1", "0"}},
		{":1\r\n", []string{"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"}},
		{
			"*3\r\n:1\r\n:1\r\n:0\r\n",
			[]string{"SCRIPT", "EXISTS", sha, "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "x"},
		},
		{"-ERR SCRIPT FLUSH only support SYNC|ASYNC option\r\n", []string{"SCRIPT", "FLUSH", "x"}},
		{"-ERR SCRIPT FLUSH only support SYNC|ASYNC option\r\n", []string{"SCRIPT", "FLUSH", "async", "x"}},
		{"+OK\r\n", []string{"SCRIPT", "FLUSH", "aSync"}},
		{noScript, []string{"EVALSHA", sha, "0"}},
		{"$40\r\n" + sha + "\r\n", []string{"SCRIPT", "LOAD", "return 1"}},
		{":1\r\n", []string{"EVALSHA_RO", sha, "0"}},
		{
			"-ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'x'\r\n",
			[]string{"SCRIPT", "LOAD", "return x x"},
		},
		{"-NOTBUSY No scripts in execution right now.\r\n", []string{"SCRIPT", "KILL"}},
		{"-ERR unknown subcommand 'NOSUCH'. Try SCRIPT HELP.\r\n", []string{"SCRIPT", "NOSUCH"}},
		{"+OK\r\n", []string{"SCRIPT", "DEBUG", "NO"}},
		{"-ERR Use SCRIPT DEBUG YES/SYNC/NO\r\n", []string{"SCRIPT", "DEBUG", "x"}},
		{
			"-ERR Write commands are not allowed from read-only scripts.\r\n",
			[]string{"EVAL_RO", "return redis.pcall('set','a','b')", "0"},
		},
		{
			"-ERR Write commands are not allowed from read-only scripts.\r\n",
			[]string{"EVAL_RO", "return redis.pcall('publish','a','b')", "0"},
		},
		{"$-1\r\n", []string{"EVAL_RO", "return redis.call('get','a')", "0"}},
		{":1\r\n", []string{"EVAL", "#!lua\nreturn 1", "0"}},
		{
			"-ERR Can not execute a script with write flag using *_ro command.\r\n",
			[]string{"EVAL_RO", "#!lua\nreturn 1", "0"},
		},
		{":1\r\n", []string{"EVAL_RO", "#!lua flags=no-writes,allow-oom\nreturn 1", "0"}},
		{
			"-ERR Write commands are not allowed from read-only scripts.\r\n",
			[]string{"EVAL", "#!lua flags=no-writes\nreturn redis.pcall('set','a','b')", "0"},
		},
		{
			"-ERR Unexpected flag in script shebang: bad\r\n",
			[]string{"EVAL", "#!lua flags=bad\nreturn 1", "0"},
		},
		{"-ERR Unknown lua shebang option: name=x\r\n", []string{"EVAL", "#!lua name=x\nreturn 1", "0"}},
		{
			"-ERR Unexpected engine in script shebang: #!python\r\n",
			[]string{"EVAL", "#!python\nreturn 1", "0"},
		},
		{"-ERR Unexpected engine in script shebang: #!\r\n", []string{"EVAL", "#! lua\nreturn 1", "0"}},
		{"-ERR Invalid script shebang\r\n", []string{"EVAL", "#!lua", "0"}},
		{
			"-ERR Invalid engine in script shebang\r\n",
			[]string{"EVAL", "#!lua flags=\"no-writes\nreturn 1", "0"},
		},
		{":1\r\n", []string{"EVAL", "#!lua \"flags=no-writes\"\nreturn 1", "0"}},
		{
			"-ERR Error compiling script (new function): user_script:2: '=' expected near 'x'\r\n",
			[]string{"EVAL", "#!lua\nx x", "0"},
		},
		{
			"$1\r\n1\r\n",
			[]string{
				"EVAL",
				"redis.call('select',3) redis.call('set','indb3','1') return " +
					"redis.call('get','indb3')", "0",
			},
		},
		{"$-1\r\n", []string{"GET", "indb3"}},
	} {
		require.Equal(t, step.want, call(step.args...), "%q", step.args)
	}
}

func FuzzScripts(f *testing.F) {
	for _, source := range hostileScripts {
		f.Add(source)
	}
	for _, source := range intruders {
		f.Add(source)
	}
	f.Add(slidingWindow)
	for seed := range uint64(20) {
		f.Add(newGenerator(seed).program())
	}
	e, c := newTestEngine(f)
	f.Fuzz(func(t *testing.T, source string) {
		// Parsing and compiling terminate for every source; running may not.
		if _, err := newScript(source, 0, e.prepare); err != nil {
			require.NotContains(t, evaluate(e, c, resp.RESP2, evalArgs(source)), internalError)
			return
		}
		if canLoop(source) {
			return
		}
		reply := evaluate(e, c, resp.RESP2, evalArgs(source))
		require.NotEmpty(t, reply)
		require.NotContains(t, reply, internalError)
	})
}

// canLoop reports whether a source might run for long. It may be wrong about
// those that do not.
func canLoop(source string) bool {
	for _, word := range []string{
		"for", "while", "repeat", "function", "load", "rep", "find", "match", "gsub", "sort",
		"concat", "wrap", "foreach", "insert",
	} {
		if containsWord(source, word) {
			return true
		}
	}
	return false
}

func containsWord(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i:i+len(word)] == word {
			return true
		}
	}
	return false
}
