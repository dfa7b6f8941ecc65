package scripting

import (
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

// libraryLimiter is the same limiter as libraries write it, as in bench/flows.go.
const libraryLimiter = `
local function positive(value, name)
  if type(value) ~= 'number' or value <= 0 then
    error(string.format('%s must be positive, got %s', name, tostring(value)), 0)
  end
  return value
end

local function parse(text)
  local quota = cjson.decode(text)
  return positive(quota[1], 'window'), positive(quota[2], 'limit')
end

local function admit(key, now, window, limit)
  redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
  if redis.call('ZCARD', key) >= limit then
    return 0
  end
  redis.call('ZADD', key, now, string.format('%d', now))
  return 1
end

local ok, window, limit = pcall(parse, ARGV[2])
if not ok then
  return redis.error_reply('ERR ' .. window)
end
local now = tonumber(string.match(ARGV[1], '^%d+$'))
return string.format('%d', admit(KEYS[1], positive(now, 'now'), window, limit))
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
	c := &commands.Ctx{Proto: resp.RESP2}
	s, err := e.scripts.load([]byte(script))
	require.NoError(t, err)
	return e, c, splitFields("EVALSHA " + s.sha + " 1 limit:user 1795184400123 " + args)
}

// A limiterScript is a script for newStubEngine.
type limiterScript struct{ name, source, args string }

var limiterScripts = []limiterScript{
	{"plain", slidingWindow, "60000 3"},
	{"library", libraryLimiter, "[60000,3]"},
}

func BenchmarkLimiters(b *testing.B) {
	for _, s := range limiterScripts {
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
	for _, s := range limiterScripts {
		e, c, args := newStubEngine(t, s.source, s.args)
		c.Args = args
		got := testing.AllocsPerRun(200, func() {
			c.Reset()
			e.evalSHA(c)
		})
		require.Zero(t, got, s.name)
	}
}
