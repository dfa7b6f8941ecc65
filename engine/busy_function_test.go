package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

const busyFunction = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN " +
	"NOSAVE."

// loop is a library with two endless functions, one of which writes.
const loop = `#!lua name=l
local n = 0
redis.register_function('f', function(k, a) n = n + 1 while true do end end)
redis.register_function('c', function()
  n = n + 1 coroutine.wrap(function() pcall(function() while true do end end) end)()
end)
redis.register_function('w', function(k, a) redis.call('set', 'x', 1) while true do end end)
redis.register_function('n', function() return n end)`

func words(line ...string) [][]byte {
	out := make([][]byte, len(line))
	for i, word := range line {
		out[i] = []byte(word)
	}
	return out
}

// The replies are those of redis-server 7.0.15, without the durations.
func TestBusyFunction(t *testing.T) {
	x := newEndless(t)
	require.Equal(t, "l", show(x.other.Do(words("function", "load", loop))))
	x.run(t, "FCALL", "f", "1", "k", "v")
	for _, line := range []string{
		"get x", "script kill", "function list", "subscribe x", "publish a b",
		"unsubscribe",
	} {
		require.Equal(t, busyFunction, do(x.other, line), line)
	}
	stats := do(x.other, "function stats")
	require.True(t, strings.HasPrefix(stats, "[running_script [name f command [FCALL f 1 k v] duration_ms "),
		stats)
	require.True(t, strings.HasSuffix(stats, "] engines [LUA [libraries_count 1 functions_count 4]]]"), stats)
	require.Equal(t, "OK", do(x.other, "function kill"))
	require.Equal(t, killed+"f, on @user_function:3.", <-x.reply)
	require.Equal(t, "1", do(x.other, "fcall n 0"), "the library's locals are kept")
	require.Equal(t, "NOTBUSY No scripts in execution right now.", do(x.other, "function kill"))
	require.Contains(t, do(x.other, "function stats"), "[running_script (nil) ")

	x.run(t, "fcall", "c", "0")
	require.Equal(t, "OK", do(x.other, "function kill"))
	require.Contains(t, <-x.reply, killed)
	require.Equal(t, "2", do(x.other, "fcall n 0"))

	x.run(t, "eval", "while true do end", "0")
	require.Equal(t, busyScript, do(x.other, "function stats"))
	require.Equal(t, busyScript, do(x.other, "function kill"))
	require.Equal(t, "OK", do(x.other, "script kill"))
	<-x.reply

	x.run(t, "fcall", "w", "0")
	require.Equal(t, unkillable, do(x.other, "function kill"))
	require.Equal(t, unkillable, do(x.other, "script kill"))
	x.end(t)
}

// A connection that ends or sends RESET does not wait for a script: neither for the lock
// of pub/sub, which a script holds once it has published, nor for shards.
func TestGoneWhileBusy(t *testing.T) {
	x := newEndless(t)
	returning, closing := newSession(t, x.engine), x.engine.NewSession(engine.Peer{})
	do(returning, "subscribe a b")
	do(closing, "psubscribe a*")
	waiting, late := x.engine.NewSession(engine.Peer{}), newSession(t, x.engine)
	do(waiting, "blpop k 0")
	do(late, "blpop k 1")
	x.run(t, "eval", "redis.call('publish', 'a', 'm') while true do end", "0")

	require.Contains(t, do(returning, "reset"), "RESET", "behind the message")
	closing.Close()
	waiting.Close()
	late.Blocked().TimeOut()
	require.Equal(t, "(nil)", show(late.Resume()))
	x.engine.Tick()
	x.end(t)

	require.Equal(t, "0", do(x.other, "publish a m"))
	require.Equal(t, "[]", do(x.other, "pubsub channels"))
	require.Equal(t, "0", do(x.other, "pubsub numpat"))
	do(returning, "subscribe a")
	require.Equal(t, "1", do(x.other, "publish a m"))
	got, lost := returning.Deliver(nil)
	require.Zero(t, lost)
	require.Equal(t, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n", string(got))
	require.Equal(t, "1", do(x.other, "rpush k v"))
	x.engine.Tick()
	require.Equal(t, "1", do(x.other, "llen k"), "nobody took it")
}

// The load of an endless library is aborted, and other clients are not asked to kill it.
func TestEndlessLibrary(t *testing.T) {
	x := newEndless(t, "--busy-reply-threshold", "1")
	const refusal = "ERR Error registering functions: ERR FUNCTION LOAD timeout"
	for _, body := range []string{
		"while true do end",
		"redis.register_function('x', function() end)\nwhile true do end",
	} {
		require.Equal(t, refusal, show(x.other.Do(words("function", "load", "#!lua name=l\n"+body))))
	}
	require.Contains(t, do(x.other, "function stats"), "libraries_count 0")
}
