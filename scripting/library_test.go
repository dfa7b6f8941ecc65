package scripting

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

func doCommand(e *Engine, c *commands.Ctx, args ...string) string {
	raw := make([][]byte, len(args))
	for i, a := range args {
		raw[i] = []byte(a)
	}
	return evaluate(e, c, resp.RESP2, raw)
}

func mustLoad(t testing.TB, e *Engine, c *commands.Ctx, name, body string) {
	reply := doCommand(e, c, "FUNCTION", "LOAD", "#!lua name="+name+"\n"+body)
	require.Equal(t, fmt.Sprintf("$%d\r\n%s\r\n", len(name), name), reply)
}

// TestDumpIsWhatRedisLoads uses a payload to which redis-server 7.0.15 answers
// OK; see server/testdata/transcripts/function.cases.
func TestDumpIsWhatRedisLoads(t *testing.T) {
	e, c := newTestEngine(t)
	mustLoad(t, e, c, "ours", "redis.register_function('mine', function() return 'kept' end)")
	const payload = "\xf5@M#!lua name=ours\x0aredis.register_function('mine', function() return 'kept' " +
		"end)\x0a\x00\x8e\xba\x00\x9a):\xe7\xbb"
	require.Equal(t, fmt.Sprintf("$%d\r\n%s\r\n", len(payload), payload), doCommand(e, c, "FUNCTION", "DUMP"))
	require.Equal(t, "+OK\r\n", doCommand(e, c, "FUNCTION", "RESTORE", payload, "REPLACE"))
	require.Equal(t, "$4\r\nkept\r\n", doCommand(e, c, "FCALL", "mine", "0"))
}

// TestMissingFunctionsFailBeforeTheirArguments has the errors of redis-server 7.0.15 for what a library
// may not call while it is loaded.
func TestMissingFunctionsFailBeforeTheirArguments(t *testing.T) {
	e, c := newTestEngine(t)
	const missing = "user_function:3: Script attempted to access nonexistent global variable '%s'"
	for code, want := range map[string]string{
		"redis.call(f())":                                 "call",
		"redis.call('GET', f(), 1)":                       "call",
		"redis.call('GET', (f()))":                        "call",
		"tonumber((f()))":                                 "tonumber",
		"local a = math.floor((f()))":                     "math",
		"string.format('%d', f())":                        "string",
		"redis.log(redis.LOG_NOTICE, math.floor((f())))":  "math",
		"(function() redis.pcall('GET', (f())) end)()":    "pcall",
		"redis.register_function(redis.call('GET'), f())": "call",
		"redis.log((f()))":                                "",
	} {
		text := fmt.Sprintf(missing, want)
		if want == "" {
			text = "user_function:2: attempt to call local 'x' (a nil value)"
		}
		const head = "#!lua name=l\nlocal function f() local x x() end\n"
		reply := doCommand(e, c, "FUNCTION", "LOAD", head+code)
		require.Equal(t, "-ERR Error registering functions: ERR "+text+"\r\n", reply, code)
	}
}

// TestLibraryIsRebuilt checks that a library with an unusable state gets a new
// one, and the others keep theirs.
func TestLibraryIsRebuilt(t *testing.T) {
	e, c := newTestEngine(t)
	const counter = "local n = 0 redis.register_function('%s', function() n = n + 1 return n end)"
	mustLoad(t, e, c, "a",
		fmt.Sprintf(counter, "a")+" local function f() return 1 + f() end redis.register_function('deep', f)")
	mustLoad(t, e, c, "b", fmt.Sprintf(counter, "b"))
	for _, name := range []string{"a", "b"} {
		require.Equal(t, ":1\r\n", doCommand(e, c, "FCALL", name, "0"))
	}
	require.Contains(t, doCommand(e, c, "FCALL", "deep", "0"), "stack overflow")
	require.Equal(t, ":2\r\n", doCommand(e, c, "FCALL", "b", "0"))
	n, err := strconv.Atoi(doCommand(e, c, "FCALL", "a", "0")[1:2])
	require.NoError(t, err)
	require.LessOrEqual(t, n, 2)
}

// TestLibrariesAreIsolated checks that libraries and scripts do not see each
// other's changes.
func TestLibrariesAreIsolated(t *testing.T) {
	e, c := newTestEngine(t)
	want := evaluate(e, c, resp.RESP2, evalArgs(probe))
	mustLoad(t, e, c, "a",
		"redis.register_function('a', function(k, a) local t = loadstring(a[1]) return {pcall(t)} end)")
	for _, s := range sources(t, "intruders") {
		doCommand(e, c, "FCALL", "a", "0", s.text)
	}
	require.Equal(t, want, evaluate(e, c, resp.RESP2, evalArgs(probe)))
	mustLoad(t, e, c, "b",
		"redis.register_function('b', function() return {type(redis.call), type(string.format), "+
			"#table.concat({1})} end)")
	require.Equal(t, "*3\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n:1\r\n", doCommand(e, c, "FCALL", "b", "0"))
	require.Contains(t, doCommand(e, c, "FUNCTION", "LOAD", "#!lua name=c\nredis.call('get', 'x')"),
		"nonexistent global variable 'call'")
	require.Equal(t, ":1\r\n", evaluate(e, c, resp.RESP2, evalArgs("return redis.register_function == nil")))
}

// TestServerInLibraries checks that server is equivalent to redis in libraries.
func TestServerInLibraries(t *testing.T) {
	for _, body := range []string{
		"redis.register_function('f', function(k, a) return {#k, #a, redis.call('set', k[1], a[1]), " +
			"redis.call('get', k[1])} end)",
		"redis.register_function{function_name='f', callback=function() return redis.REDIS_VERSION end, " +
			"flags={'no-writes'}, description='d'}",
		"local r = redis r.register_function('f', function() return {type(r.register_function), " +
			"type(r.log)} end)",
		"local r = redis r.register_function('f', function() return r.call('get', 'x') end)",
		"local r = redis r.register_function('f', function() return r.register_function('g', function() " +
			"end) end)",
		"redis.register_function('f', function() return {type(redis.register_function), type(redis.call), " +
			"redis.LOG_WARNING, redis.REPL_ALL} end)",
		"redis.register_function('f', function() return redis.pcall('nosuch') end)",
		"redis.register_function('f', function() return redis.error_reply('MY error') end)",
		"redis.register_function('f', function() return redis.nosuch end)",
		"redis.log(redis.LOG_WARNING, 'loading') redis.register_function('f', function() " +
			"redis.log(redis.LOG_DEBUG, 'called') return 1 end)",
		"redis.log(9, 'x')",
		"redis.log('x')",
		"redis.register_function('f', 1)",
		"redis.register_function('f f', function() end)",
		"redis.register_function('f', function() end) redis.register_function('f', function() end)",
		"redis.register_function()",
		"redis.call('get', 'x')",
		"redis.pcall('get', 'x')",
		"redis.nosuch()",
		"redis.sha1hex('x')",
		"redis.x = 1",
		"redis = 1",
		"return redis.REPL_ALL",
		"return redis[1]",
		"return redis[{}]",
		"for k in pairs(redis) do end",
	} {
		var replies []string
		for _, name := range []string{"redis", "server"} {
			e, c := newTestEngine(t)
			source := "#!lua name=lib\n" + strings.NewReplacer("redis.", name+".", "= redis ", "= "+name+" ",
				"redis ", name+" ",
				"redis[", name+"[", "(redis)", "("+name+")").Replace(body)
			var reply strings.Builder
			reply.WriteString(doCommand(e, c, "FUNCTION", "LOAD", source))
			for _, args := range [][]string{{"FCALL", "f", "1", "k", "v"}, {"FCALL_RO", "f", "0"}} {
				reply.WriteString(doCommand(e, c, args...))
			}
			replies = append(replies, strings.ReplaceAll(reply.String(), name, "redis"))
		}
		require.Equal(t, replies[0], replies[1], body)
	}
	e, c := newTestEngine(t)
	mustLoad(t, e, c, "lib",
		"server.register_function('f', function() return server.call('set', 'k', 'v') end)")
	require.Equal(t, "+OK\r\n", doCommand(e, c, "FCALL", "f", "0"))
	require.Equal(t, ":1\r\n",
		evaluate(e, c, resp.RESP2, evalArgs("return server.register_function == nil and server == redis")))
}

// TestConcurrentLibraries calls, loads and deletes at the same time. Each call
// runs in one whole library, and no count is lost.
func TestConcurrentLibraries(t *testing.T) {
	e, c := newTestEngine(t)
	const source = "#!lua name=lib\nlocal n = 0 redis.register_function('n', function() n = n + 1 return n " +
		"end)"
	mustLoad(t, e, c, "still",
		"local n = 0 redis.register_function('still', function() n = n + 1 return n end)")
	const clients, calls = 4, 50
	var wg sync.WaitGroup
	for g := range clients {
		wg.Go(func() {
			_, own := newTestEngine(t)
			for i := range calls {
				doCommand(e, own, "FCALL", "still", "0")
				doCommand(e, own, "FCALL", "n", "0")
				switch (g + i) % 5 {
				case 0:
					doCommand(e, own, "FUNCTION", "LOAD", "REPLACE", source)
				case 1:
					doCommand(e, own, "FUNCTION", "DELETE", "lib")
				case 2:
					doCommand(e, own, "FUNCTION", "LIST", "WITHCODE")
				case 3:
					doCommand(e, own, "FUNCTION", "RESTORE", "broken")
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, fmt.Sprintf(":%d\r\n", clients*calls+1), doCommand(e, c, "FCALL", "still", "0"))
}
