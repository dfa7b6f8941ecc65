package scripting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// TestFunctionReplyUnderMemoryLimit checks that FCALL fails as EVAL does if there is
// no memory for the reply, and that an error which the function has caught does not
// cut its reply.
func TestFunctionReplyUnderMemoryLimit(t *testing.T) {
	const wide = "local t={} for i=1,10 do t[i]=t end return t"
	const caught = "pcall(function() local s='x' while true do s=s..s end end) return {1,2}"
	e, c := newTestEngine(t)
	e.SetLimits(0, 6<<20)
	require.Equal(t, "$1\r\nm\r\n", doCommand(e, c, "FUNCTION", "LOAD", "#!lua name=m\n"+
		"redis.register_function('wide', function() "+wide+" end)\n"+
		"redis.register_function('caught', function() "+caught+" end)"))
	for _, function := range []struct{ name, body string }{{"wide", wide}, {"caught", caught}} {
		byEval := evaluate(e, c, resp.RESP2, evalArgs(function.body))
		byCall := doCommand(e, c, "FCALL", function.name, "0")
		if function.name == "wide" {
			require.Contains(t, byEval, errNoMemory)
			require.Contains(t, byCall, errNoMemory)
		} else {
			require.Equal(t, "*2\r\n:1\r\n:2\r\n", byEval)
			require.Equal(t, byEval, byCall)
		}
	}
}

// TestReplyOfOneStringManyTimes checks that the copies of strings in a reply are charged: a script holds such
// a string once.
func TestReplyOfOneStringManyTimes(t *testing.T) {
	race.OneGoroutine(t)
	e, c := newTestEngine(t)
	e.SetLimits(0, 6<<20)
	const script = "local s = string.rep('x', 1024 * 1024) local t = {} " +
		"for i = 1, COUNT do t[i] = ELEMENT end return t"
	for _, element := range []string{
		"s", "{s}", "{ok = s}", "{err = s}", "{big_number = s}", "{map = {[s] = s}}",
	} {
		run := func(count string) string {
			source := strings.NewReplacer("COUNT", count, "ELEMENT", element).Replace(script)
			return evaluate(e, c, resp.RESP2, evalArgs(source))
		}
		require.NotContains(t, run("1"), errNoMemory, element)
		require.Contains(t, fmt.Sprintf("%.200s", run("64")), errNoMemory, element)
	}
}

// TestPanicIsCounted checks that the calls of a script before a panic, and the error
// reply, are in the statistics, whichever engine has run it.
func TestPanicIsCounted(t *testing.T) {
	for name, source := range map[string]string{
		"plain": "redis.call('SET', KEYS[1], '1') return redis.call('GET', KEYS[1])",
		"interpreted": "redis.call('SET', KEYS[1], '1') return (function() return redis.call('GET', " +
			"KEYS[1]) end)()",
	} {
		t.Run(name, func(t *testing.T) {
			e, c := newTestEngine(t)
			errors := 0
			e.options.Log = func(int, string) {}
			e.options.OnError = func(string) { errors++ }
			get := e.table.Lookup([]byte("get"))
			defer func(h commands.Handler) { get.Handler = h }(get.Handler)
			get.Handler = func(*commands.Ctx) resp.Value { panic("a fault") }
			reply := evaluate(e, c, resp.RESP2,
				[][]byte{[]byte("EVAL"), []byte(source), []byte("1"), []byte("k")})
			require.Contains(t, reply, "-ERR "+internalError)
			require.Equal(t, 1, errors)
			require.Equal(t, int64(1), c.Env.Nested[0].Calls)
			require.Equal(t, "set", c.Env.Nested[0].Cmd.Name)
		})
	}
}
