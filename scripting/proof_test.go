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

// TestProof checks which scripts are proven, and why others are not, which use, or seem to use, keys not
// declared in KEYS.
func TestProof(t *testing.T) {
	e := newProofEngine(t)
	all := append(sources(t, "proofs"), source{
		"proven", "#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])",
	})
	require.Greater(t, len(all), 250)
	for _, s := range all {
		want := proof.Proof{}
		got := proofOf(t, e, s.text)
		if s.name != "proven" {
			want = proof.Proof{Reason: s.name, Line: got.Line}
		}
		require.Equal(t, want, got, s.text)
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
