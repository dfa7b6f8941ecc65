package scripting

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// slidingWindow is a sliding-window limiter like docs/sliding-window.lua.
const slidingWindow = `
local key, now = KEYS[1], tonumber(ARGV[1])
local window, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local used = redis.call('ZCARD', key)
if used >= limit then
  return tostring(0)
end
redis.call('ZADD', key, tostring(now), now)
return tostring(1)
`

// newStubEngine returns an engine with stubs for the commands of the limiters, and a call of a script.
func newStubEngine(t testing.TB, script, args string) (*Engine, *commands.Ctx, [][]byte) {
	e := New(Options{})
	stub := func(*commands.Ctx) resp.Value { return resp.Int(2) }
	e.SetTable(commands.NewTable(e.Commands(), []commands.Command{
		{Name: "zremrangebyscore", Arity: 4, Flags: commands.Write, Handler: stub},
		{Name: "zcard", Arity: 2, Flags: commands.ReadOnly, Handler: stub},
		{Name: "zadd", Arity: -4, Flags: commands.Write, Handler: stub},
	}))
	scope := commands.Scope{Env: &commands.Env{}, Settings: &commands.Settings{}}
	c := &commands.Ctx{Proto: resp.RESP2, Scope: scope}
	s, err := e.scripts.load([]byte(script))
	require.NoError(t, err)
	return e, c, splitFields("EVALSHA " + s.sha + " 1 limit:user 1795184400123 " + args)
}

// A limiterScript is a script for newStubEngine.
type limiterScript struct{ name, source, args string }

// limiterScripts returns a plain limiter and the same as libraries write it.
func limiterScripts(t testing.TB) []limiterScript {
	t.Helper()
	library, err := os.ReadFile("../bench/library.lua")
	require.NoError(t, err)
	return []limiterScript{
		{"plain", slidingWindow, "60000 3"},
		{"library", string(library), "[60000,3]"},
	}
}

func BenchmarkLimiters(b *testing.B) {
	for _, s := range limiterScripts(b) {
		b.Run(s.name, func(b *testing.B) {
			e, c, args := newStubEngine(b, s.source, s.args)
			c.Args = args
			b.ReportAllocs()
			for b.Loop() {
				c.Reset()
				reply := e.evalSHA(c)
				if reply.Str() != "1" {
					b.Fatal(reply)
				}
			}
		})
	}
}

// TestAllocationsPerScript checks recorded ceilings. Raise them only with a
// reason.
func TestAllocationsPerScript(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops pooled frames at random")
	}
	for _, s := range limiterScripts(t) {
		e, c, args := newStubEngine(t, s.source, s.args)
		c.Args = args
		got := testing.AllocsPerRun(200, func() {
			c.Reset()
			e.evalSHA(c)
		})
		require.Zero(t, got, s.name)
	}
}
