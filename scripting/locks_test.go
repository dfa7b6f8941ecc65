package scripting

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/ast"
	"github.com/zlimit/zlimit/scripting/proof"
	"github.com/zlimit/zlimit/store"
)

// evalKeys returns the arguments of EVAL with these keys and two arguments.
func evalKeys(source string, keys ...string) [][]byte {
	args := [][]byte{[]byte("EVAL"), []byte(source), []byte(strconv.Itoa(len(keys)))}
	for _, k := range append(keys, "a1", "2") {
		args = append(args, []byte(k))
	}
	return args
}

// asSession runs a script as a session does, but without locks: it asks for the
// shards to lock and runs the script with the others marked as not locked.
func asSession(e *Engine, c *commands.Ctx, args [][]byte) (reply string, retried bool) {
	c.Proto, c.Args = resp.RESP2, args
	c.Reset()
	c.Unheld = ^e.locksOfSource(c, args)
	c.Mode.Set(commands.MayRetry, c.Unheld != 0)
	v := e.eval(c)
	if retried = c.Retry; retried {
		c.Unheld, c.Retry = 0, false
		c.Mode.Set(commands.MayRetry, false)
		v = e.eval(c)
	}
	c.Unheld = 0
	c.Mode.Set(commands.MayRetry, false)
	c.Remember(nil)
	return string(resp.Append(nil, &v, resp.RESP2)), retried
}

// TestLockChecker runs scripts that are wrongly called proven.
func TestLockChecker(t *testing.T) {
	refused := "-" + errNotLocked + "\r\n"
	for _, tc := range []struct {
		source, reply        string
		restarts, violations int64
	}{
		{"return redis.call('get', KEYS[1])", "$1\r\n1\r\n", 0, 0},
		{"return redis.call('get', ARGV[1])", "$5\r\nother\r\n", 1, 0},
		{"redis.call('get', KEYS[1]) return redis.call('get', ARGV[1])", "$5\r\nother\r\n", 1, 0},
		{"return redis.call('dbsize')", ":2\r\n", 1, 0},
		{"redis.call('set', ARGV[1], 1) return 5", ":5\r\n", 1, 0},
		{"return redis.pcall('get', ARGV[1])", "$5\r\nother\r\n", 1, 0},
		{"redis.call('incr', KEYS[1]) while redis.pcall('set', ARGV[1], 1).err do end", refused, 0, 1},
		{"redis.call('incr', KEYS[1]) return redis.call('get', ARGV[1])", refused, 0, 1},
		{"redis.call('incr', KEYS[1]) redis.pcall('set', ARGV[1], 1) return 5", refused, 0, 1},
		{"redis.call('incr', KEYS[1]) pcall(redis.call, 'set', ARGV[1], 1) return 5", refused, 0, 1},
		{"redis.call('incr', KEYS[1]) xpcall(function() redis.call('set', ARGV[1], 1) end, function() " +
			"while true do end end) return 5", refused, 0, 1},
		{"redis.call('incr', KEYS[1]) repeat until pcall(redis.call, 'set', ARGV[1], 1)", refused, 0, 1},
		{"redis.call('nosuch') return 1", "", 0, 0},
	} {
		e, c := newTestEngine(t)
		believeScripts(e) // the bug
		key := keyInOtherShard("a1")
		evaluate(e, c, resp.RESP2, evalKeys("redis.call('mset', KEYS[1], 1, ARGV[1], 'other')", key))
		reply, retried := asSession(e, c, evalKeys(tc.source, key))
		if tc.reply != "" {
			require.Equal(t, tc.reply, reply, tc.source)
		}
		restarts, violations := e.LockViolations()
		require.Equal(t, []int64{tc.restarts, tc.violations}, []int64{restarts, violations}, tc.source)
		require.Equal(t, tc.restarts == 1, retried, tc.source)
		// The next script is not affected.
		reply, _ = asSession(e, c, evalKeys("return 7", key))
		require.Equal(t, ":7\r\n", reply)
	}
}

// keyInOtherShard returns a key in a shard other than k's.
func keyInOtherShard(k string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("key", i); store.ShardOf([]byte(key)) != store.ShardOf([]byte(k)) {
			return key
		}
	}
}

// TestViolationInTransaction checks that nothing is restarted after other
// commands.
func TestViolationInTransaction(t *testing.T) {
	e, c := newTestEngine(t)
	believeScripts(e)
	c.Args = evalKeys("return redis.call('get', ARGV[1])", keyInOtherShard("a1"))
	c.Unheld = ^store.ShardOf([]byte(keyInOtherShard("a1")))
	reply := e.eval(c)
	require.Equal(t, errNotLocked, reply.Str())
	require.False(t, c.Retry)
	_, violations := e.LockViolations()
	require.EqualValues(t, 1, violations)
}

// TestEvaluatedScriptsMayBeEvicted checks that a script compiled for its locks
// counts as evaluated, not as loaded.
func TestEvaluatedScriptsMayBeEvicted(t *testing.T) {
	e, c := newTestEngine(t)
	asSession(e, c, evalKeys("return 1"))
	require.Equal(t, 1, e.scripts.evaluated.Len())
}

// A keyProgram writes scripts that call commands, mostly on keys of KEYS, in
// the various ways of scripts to keep a key.
type keyProgram struct {
	rand  *rand.Rand
	b     strings.Builder
	names []string
}

func (g *keyProgram) pick(options ...string) string { return options[g.rand.IntN(len(options))] }

func (g *keyProgram) key() string {
	if g.rand.IntN(40) == 0 {
		return g.pick("'x'", "ARGV[1]", "KEYS[1] .. 'x'", "KEYS[1] or 'x'", "tostring(KEYS[2])", "#KEYS",
			"KEYS")
	}
	return g.pick("KEYS[1]", "KEYS[2]", "KEYS[n % 3 + 1]", "KEYS[#KEYS]", "KEYS[9]", "(unpack(KEYS))",
		"n > 2 and KEYS[1] or KEYS[2]",
		g.pick(g.names...), g.pick(g.names...), g.pick(g.names...))
}

func (g *keyProgram) statement(depth int) {
	line := func(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }
	block := func() {
		known := len(g.names)
		for range 1 + g.rand.IntN(2) {
			g.statement(depth + 1)
		}
		if g.rand.IntN(3) > 0 {
			g.names = g.names[:known] // else it is read out of scope
		}
	}
	kind := g.rand.IntN(16)
	if depth > 3 {
		kind = g.rand.IntN(6)
	}
	switch kind {
	case 0, 1, 2, 3:
		line(g.pick("show(redis.pcall('get', %[1]s))", "show(redis.pcall('incrby', %[1]s, n))",
			"show(redis.pcall('set', %[1]s, n))",
			"show(redis.call('exists', %[1]s, %[2]s))", "show(redis.pcall('rename', %[1]s, %[2]s))",
			"show(redis.pcall('del', %[1]s))",
			"show(redis.pcall('mset', %[1]s, n, %[2]s, n))", "show(redis.pcall('zadd', %[1]s, n, n))",
			"n = n + redis.call('exists', %[1]s)%.0[2]s"),
			g.key(), g.key())
	case 4:
		g.names = append(g.names, fmt.Sprint("k", g.rand.IntN(4)))
		line("local %s = %s", g.names[len(g.names)-1], g.key())
	case 5:
		line("%s = %s", g.pick(g.names...), g.key())
	case 6:
		line("%[1]s, %[2]s = %[2]s, %[3]s", g.pick(g.names...), g.pick(g.names...), g.key())
	case 7:
		line("if n %% 2 == 0 then")
		block()
		line("else")
		block()
		line("end")
	case 8:
		name := fmt.Sprint("k", g.rand.IntN(6))
		g.names = append(g.names, name)
		line("for i, %s in ipairs(KEYS) do", name)
		block()
		line("end")
	case 9:
		line("for i = 1, #KEYS do n = n + i")
		block()
		line("end")
	case 10:
		line("local function f%d()", g.rand.IntN(3))
		block()
		line("end")
	case 11:
		line("show(pcall(function()")
		block()
		line("end))")
	case 12:
		g.names = append(g.names, "k7", "k8")
		line("local k7, k8 = %s",
			g.pick("unpack(KEYS)", "KEYS[1]", "KEYS[3], KEYS[1]", "unpack(KEYS, 2)", "nil, KEYS[2]"))
	case 13:
		line("show(redis.pcall(%s, unpack(KEYS)))", g.pick("'del'", "'exists'", "'mget'"))
	case 14:
		line("do")
		block()
		line("end")
	case 15:
		line("n = n + %s", g.pick("1", "2", "#KEYS", "(tonumber(redis.call('get', KEYS[1])) or 0)"))
	}
}

func keyScript(seed uint64) string {
	g := &keyProgram{rand: rand.New(rand.NewPCG(seed, 11)), names: []string{"k1", "k2"}}
	g.b.WriteString("local n, out = 1, {}\nlocal function show(v) out[#out + 1] = type(v) == 'table' and " +
		"(v.err or v.ok or #v) or tostring(v) end\nlocal k1, k2 = KEYS[1], KEYS[2]\n")
	for range 3 + g.rand.IntN(6) {
		g.statement(0)
	}
	g.b.WriteString("return out")
	return g.b.String()
}

// TestProvenScriptsAnswerTheSame runs random programs with only their own
// shards locked, and with all.
func TestProvenScriptsAnswerTheSame(t *testing.T) {
	programs := race.Fewer(1000)
	t.Logf("seeds 1 to %d", programs)
	e, narrow := newTestEngine(t)
	_, wide := newTestEngine(t)
	keys := []string{"alpha", "beta", "gamma"}
	proven := 0
	for seed := range uint64(programs) {
		source := keyScript(seed + 1)
		args := evalKeys(source, keys...)
		got, retried := asSession(e, narrow, args)
		require.False(t, retried, "seed %d\n%s", seed+1, source)
		wide.Args, wide.Proto = args, resp.RESP2
		wide.Reset()
		v := e.eval(wide)
		require.Equal(t, string(resp.Append(nil, &v, resp.RESP2)), got, "seed %d\n%s", seed+1, source)
		if s := e.scripts.lookupSource([]byte(source)); s != nil && s.proof.Proven() {
			proven++
		}
	}
	restarts, violations := e.LockViolations()
	require.Zero(t, restarts+violations)
	t.Logf("%d of %d programs are proven", proven, programs)
	require.Greater(t, proven, programs/4)
	require.Less(t, proven, programs*9/10)
}

// TestRandomProgramsFindABadProof calls all programs proven, and expects the
// lock checker to catch some. The keys of each program have other names, and so
// other shards.
func TestRandomProgramsFindABadProof(t *testing.T) {
	e, c := newTestEngine(t)
	believeScripts(e)
	for seed := uint64(1); ; seed++ {
		asSession(e, c,
			evalKeys(keyScript(seed), fmt.Sprint("alpha", seed), fmt.Sprint("beta", seed),
				fmt.Sprint("gamma", seed)))
		if restarts, violations := e.LockViolations(); restarts > 0 && violations > 0 {
			return
		}
		require.Less(t, seed, uint64(20_000))
	}
}

// TestInterpPool checks that the pool keeps as many states as it has slots and
// gives each to one user.
func TestInterpPool(t *testing.T) {
	e, _ := newTestEngine(t)
	out := make(map[*interp]bool)
	for range len(e.interps) + 2 {
		out[e.acquireInterp()] = true
	}
	require.Len(t, out, len(e.interps)+2)
	for in := range out {
		e.releaseInterp(in)
	}
	for range e.interps {
		in := e.acquireInterp()
		require.True(t, out[in])
		delete(out, in)
	}
	require.Len(t, out, 2)
	in := e.acquireInterp()
	in.unusable = true
	e.releaseInterp(in)
	require.NotSame(t, in, e.acquireInterp())
}

// believeScripts makes an engine prove every script.
func believeScripts(e *Engine) {
	e.scripts.prepare = func(_ *ast.Chunk, p *lua.Proto) proof.Proof {
		p.PrepareSites(e.resolveCall)
		return proof.Proof{}
	}
}
