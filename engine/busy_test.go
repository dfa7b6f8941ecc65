package engine_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
)

const (
	busyScript = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	unkillable = "UNKILLABLE Sorry the script already executed write commands against the dataset. You " +
		"can either wait the script termination or kill the server in a hard way using the SHUTDOWN " +
		"NOSAVE command."
	killed = "ERR Script killed by user with SCRIPT KILL... script: "
)

// endless runs a script that does not end, in its own engine. Each reading of the clock
// advances it by a tenth of a second.
type endless struct {
	engine *engine.Engine
	realUs atomic.Int64
	ended  atomic.Bool // SHUTDOWN was let through
	other  *engine.Session
	reply  chan string
}

func newEndless(t *testing.T, directives ...string) *endless {
	x := &endless{reply: make(chan string, 1)}
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(directives, nil))
	x.engine = engine.New(engine.Options{
		Config: cfg,
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return x.realUs.Add(100_000) },
			Wall:      func() int64 { return startNowMs * 1000 },
		}),
		Shutdown: func() { x.ended.Store(true) },
	})
	x.other = newSession(t, x.engine)
	return x
}

// run starts an endless command and returns when it is past the threshold. A session that
// reads a key waits until then.
func (x *endless) run(t *testing.T, command ...string) {
	x.runIn(newSession(t, x.engine), command...)
}

// runIn is run with a given session.
func (x *endless) runIn(s *engine.Session, command ...string) {
	go func() { x.reply <- show(s.Do(words(command...))) }()
	for !strings.HasPrefix(do(x.other, "get k"), "BUSY") {
		runtime.Gosched() // it has not begun
	}
}

// end ends whatever the test has left running.
func (x *endless) end(t *testing.T) {
	x.engine.End()
	require.Contains(t, <-x.reply, killed)
}

func TestBusyScript(t *testing.T) {
	x := newEndless(t)
	x.run(t, "eval", "while true do end", "0")
	for _, line := range []string{
		"get k", "ping", "set k 1", "client id", "config get port", "info", "select 1", "eval return 0",
		"script exists a", "script help", "script flush", "time", "command count", "shutdown",
		"shutdown save",
	} {
		if line == "eval return 0" {
			line += " 0"
		}
		require.Equal(t, busyScript, do(x.other, line), line)
	}
	for line, want := range map[string]string{
		"nosuch":         "ERR unknown command 'nosuch', with args beginning with: ",
		"get":            "ERR wrong number of arguments for 'get' command",
		"script kill x":  "ERR wrong number of arguments for 'script|kill' command",
		"auth a b":       "WRONGPASS invalid username-password pair or user is disabled.",
		"watch a b":      "OK",
		"unwatch":        "OK",
		"shutdown abort": "ERR No shutdown in progress.",
		"shutdown bad":   "ERR syntax error",
		"exec":           "EXECABORT Transaction discarded because of: " + busyScript,
		"discard":        "ERR DISCARD without MULTI",
		"reset":          "RESET",
	} {
		require.Equal(t, want, do(x.other, line), line)
	}
	late := newSession(t, x.engine) // while it runs
	require.Contains(t, do(late, "hello 3"), "proto 3")
	require.Equal(t, "OK", do(late, "script kill"))
	require.Contains(t, <-x.reply, killed)
	require.Equal(t, "PONG", do(x.other, "ping"))
	require.Equal(t, "NOTBUSY No scripts in execution right now.", do(late, "script kill"))
}

func TestBusyTransaction(t *testing.T) {
	x := newEndless(t)
	queued, watching := newSession(t, x.engine), newSession(t, x.engine)
	require.Equal(t, "OK", do(queued, "watch k"))
	require.Equal(t, "OK", do(queued, "multi"))
	require.Equal(t, "QUEUED", do(queued, "get k"))
	x.run(t, "eval", "local r = redis while true do end", "0") // which keys it uses nobody knows
	require.Equal(t, busyScript, do(queued, "get k"))
	require.Equal(t, "EXECABORT Transaction discarded because of: "+busyScript, do(queued, "exec"))
	require.Equal(t, "ERR DISCARD without MULTI", do(queued, "discard"))

	require.Equal(t, "OK", do(watching, "watch k"), "its shard is the script's")
	require.Equal(t, "OK", do(x.other, "script kill"))
	<-x.reply
	require.Equal(t, "OK", do(watching, "multi"))
	require.Equal(t, "(nil)", do(watching, "exec"), "the script may have changed the key")
	require.Equal(t, "OK", do(watching, "multi"))
	require.Equal(t, "[]", do(watching, "exec"))
}

// The connection of a client that hangs up ends, even if it has watched keys.
func TestBusyAndClosed(t *testing.T) {
	x := newEndless(t)
	s := x.engine.NewSession(engine.Peer{})
	require.Equal(t, "OK", do(s, "watch k other"))
	x.run(t, "eval", "while true do end", "0")
	s.Close()
	x.engine.Tick()
	x.end(t)
	x.engine.Tick()
	require.Equal(t, "OK", do(x.other, "set k v"))
}

func TestUnkillable(t *testing.T) {
	x := newEndless(t)
	x.run(t, "eval", "redis.call('set', KEYS[1], 1) while true do end", "1", "k")
	require.Equal(t, unkillable, do(x.other, "script kill"))
	require.Equal(t, busyScript, do(x.other, "get k"))
	require.Equal(t, "(nothing)", do(x.other, "shutdown nosave"))
	require.True(t, x.ended.Load())
	require.Contains(t, <-x.reply, killed)
}

// A script that has only read, or has failed before a write, can be killed.
func TestKillableAfterReading(t *testing.T) {
	x := newEndless(t)
	x.run(t, "eval",
		"pcall(redis.call, 'set') redis.pcall('get', KEYS[1]) pcall(redis.call, 'nosuch') while true do end",
		"1", "k")
	require.Equal(t, "OK", do(x.other, "script kill"))
	require.Contains(t, <-x.reply, killed)
}

// A script can be ended whatever it is doing.
func TestEndlessInManyWays(t *testing.T) {
	for name, source := range map[string]string{
		"while":           "while true do end",
		"repeat":          "repeat until false",
		"for":             "for i = 1, 1e300 do end",
		"tail calls":      "local function f() return f() end return f()",
		"iterator":        "for _ in function() return 1 end do end",
		"pcall":           "while true do pcall(function() while true do end end) end",
		"pcall of errors": "while true do pcall(error, 'x') end",
		"xpcall": "while true do xpcall(function() while true do end end, function() while true " +
			"do end end) end",
		"coroutine": "local f = coroutine.wrap(function() while true do coroutine.yield() end end) " +
			"while true do f() end",
		"in a coroutine": "coroutine.wrap(function() while true do end end)()",
		"metamethod": "local t = setmetatable({}, {__index = function(t, k) while true do end end}) " +
			"return t.x",
		"redis.call":  "while true do redis.call('get', KEYS[1]) end",
		"redis.pcall": "while true do redis.pcall('nosuch') end",
		"string.find": "return string.find(string.rep('a', 30), string.rep('a?', 30) .. " +
			"string.rep('a', 30))",
		"string.match":  "return string.match(string.rep('a', 100000), '.-.-.-.-b')",
		"string.gsub":   "return string.gsub(string.rep('a', 100000), '(.*)(.*)(.*)(.*)b', '')",
		"string.gmatch": "for _ in string.gmatch(string.rep('a', 100000), '.-.-.-.-b') do end",
		"string.rep":    "while true do local s = string.rep('x', 1e6) end",
		"table.concat": "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do local s = " +
			"table.concat(t) end",
		"table.sort": "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t, " +
			"function(a, b) return a > b end) end",
		"table.insert": "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, " +
			"1) table.remove(t, 1) end",
		"cjson": "local t = {} for i = 1, 900 do t = {t} end while true do " +
			"cjson.decode(cjson.encode(t)) end",
		"cjson of a graph": "local t = {} for i = 1, 900 do t = {t, t} end " +
			"cjson.encode(setmetatable(t, nil))",
		"load":            "load(function() while true do end end)",
		"loadstring":      "loadstring('while true do end')()",
		"handler":         "return xpcall(error, function() while true do end end)",
		"sort comparator": "table.sort({3, 2, 1}, function() while true do end end)",
		"gsub function":   "string.gsub('x', 'x', function() while true do end end)",
	} {
		t.Run(name, func(t *testing.T) {
			x := newEndless(t, "--lua-memory-limit", "0")
			x.run(t, "eval", source, "1", "k")
			require.Equal(t, "OK", do(x.other, "script kill"))
			require.Contains(t, <-x.reply, killed)
			require.Equal(t, "1", do(x.other, "eval return{1} 0")[1:2])
		})
	}
}

func TestNoThreshold(t *testing.T) {
	x := newEndless(t, "--busy-reply-threshold", "0")
	s := newSession(t, x.engine)
	done := make(chan string)
	go func() {
		done <- show(s.Do([][]byte{[]byte("eval"), []byte("for i = 1, 1e5 do end return 1"), []byte("0")}))
	}()
	require.Equal(t, "1", <-done)
	require.Equal(t, "NOTBUSY No scripts in execution right now.", do(x.other, "script kill"))
}
