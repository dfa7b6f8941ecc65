package scripting

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/proof"
)

// newProofEngine returns an engine with every group of commands that needs no
// session, and stubs of those that do and that scripts may call.
func newProofEngine(t testing.TB) *Engine {
	t.Helper()
	e := New(Options{})
	answer := func(*commands.Ctx) resp.Value { return resp.OK }
	e.SetTable(commands.NewTable(commands.Strings, commands.Keys, commands.Expiry, commands.SortedSets,
		commands.SortedSetCombinations,
		commands.Sets, commands.Hashes, commands.Lists, rl.Commands,
		commands.Databases(func() {}, func() int64 { return 0 }), e.Commands(),
		[]commands.Command{
			{Name: "ping", Arity: -1, Handler: answer},
			{Name: "echo", Arity: 2, Handler: answer},
			{Name: "publish", Arity: 3, Flags: commands.MayReplicate, Handler: answer},
			{Name: "select", Arity: 2, Handler: answer},
			{Name: "multi", Arity: 1, Flags: commands.NoScript, Handler: answer},
		}))
	return e
}

func proofOf(t testing.TB, e *Engine, source string) proof.Proof {
	t.Helper()
	s, err := newScript(source, e.maxTokens(), e.prepare)
	require.NoError(t, err, source)
	return s.proof
}

// TestProofRejects checks the reasons against scripts that use, or seem to use,
// keys not declared in KEYS.
func TestProofRejects(t *testing.T) {
	e := newProofEngine(t)
	require.GreaterOrEqual(t, len(rejectedScripts), 150)
	for _, tc := range rejectedScripts {
		require.Equal(t, tc.reason, proofOf(t, e, tc.source).Reason, tc.source)
	}
}

// TestProofKnowsEveryGlobal checks that every global of the sandbox is in
// safeGlobals or unsafeGlobals.
func TestProofKnowsEveryGlobal(t *testing.T) {
	in := newInterp(newProofEngine(t), false)
	g := in.state.Globals
	for k, _, _ := g.Next(lua.Nil); !k.IsNil(); k, _, _ = g.Next(k) {
		require.True(t, proof.KnowsGlobal(k.Str()), k.Str())
	}
}

func TestProofReportsTheLine(t *testing.T) {
	require.Equal(t, 3, proofOf(t, newProofEngine(t), "local key = KEYS[1]\n\nredis.call('get', 'x')").Line)
}

func TestProven(t *testing.T) {
	e := newProofEngine(t)
	for _, source := range provable {
		require.Equal(t, proof.Proof{}, proofOf(t, e, source), source)
	}
}

var provable = []string{
	"return 1",
	"return redis.call('get', KEYS[1])",
	"return server.call('get', KEYS[1])",
	"return redis.pcall('GET', KEYS[1])",
	"return redis.call('set', KEYS[1], KEYS[2])",
	"return redis.call('rename', KEYS[1], KEYS[2])",
	"local key = KEYS[1] return redis.call('incr', key)",
	"local a, b = KEYS[1], ARGV[1] return redis.call('set', a, b)",
	"local a, b, c = unpack(KEYS) return redis.call('mset', a, 1, b, 2, c, 3)",
	"local a a = KEYS[1] return redis.call('get', a)",
	"local a if ARGV[1] then a = KEYS[1] else a = KEYS[2] end return redis.call('get', a)",
	"local a = KEYS[1] local b = a return redis.call('get', b)",
	"local a = KEYS[1] local b = a a = b return redis.call('get', b)",
	"local a = ARGV[1] == 'x' and KEYS[1] or KEYS[2] return redis.call('get', a)",
	"for i = 1, #KEYS do redis.call('del', KEYS[i]) end",
	"for i = 1, #KEYS, 2 do redis.call('set', KEYS[i], KEYS[i + 1]) end",
	"for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[i]) end",
	"for _, key in pairs(KEYS) do redis.call('del', key) end",
	"return redis.call('del', unpack(KEYS))",
	"return redis.call('del', KEYS[1], unpack(KEYS, 2))",
	"return redis.call('zadd', KEYS[1], unpack(ARGV))",
	"return redis.call('get', KEYS[tonumber(ARGV[1])])",
	"return redis.call('get', KEYS['1'])",
	"return redis.call('get', KEYS[#KEYS])",
	"return redis.call('get', (KEYS[1]))",
	"local function hit() return redis.call('incr', KEYS[1]) end return hit()",
	"local f = function(n) return redis.call('incrby', KEYS[1], n) end return f(2)",
	"local ok, err = pcall(function() return redis.call('incr', KEYS[1]) end) return err",
	"return redis.call('object', 'encoding', KEYS[1])",
	"local t = redis.call('time') return t[1]",
	"redis.replicate_commands() return redis.call('ping')",
	"redis.call('publish', 'channel', ARGV[1]) return 1",
	"redis.log(redis.LOG_NOTICE, 'x') return redis.call('get', KEYS[1])",
	"return redis.call('get', KEYS[1]):upper()",
	"return KEYS[1]:upper()",
	"redis.setresp(3) return redis.error_reply('x')",
	"return redis.call('set', KEYS[1], cjson.encode({a = ARGV}), 'EX', math.floor(1.5))",
	"local key = nil return redis.call('get', key)",
	"#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])",
	"local KEY = KEYS[1] while redis.call('decr', KEY) > 0 do end",
	"local t = {unpack(KEYS)} t[1] = 'x' return redis.call('get', KEYS[1])",
}
