package scripting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// before creates keys of every type for the compared flows, and after reads
// them.
var before = []string{
	"FLUSHALL", "SET s abc", "SET n 10", "ZADD z 1 a 2 b 1795184400123 c", "HSET h f 1 c 5", "RPUSH l x y z",
}

var after = []string{
	"DBSIZE", "GET s", "GET n", "GET c", "GET k", "TYPE k", "ZRANGE z 0 -1 WITHSCORES", "HGETALL h",
	"LRANGE l 0 -1", "TYPE m",
	"TYPE s", "TYPE n", "TYPE z", "TYPE h", "TYPE l", "TTL s", "TTL n", "TTL z", "TTL k", "TTL h",
}

func splitFields(command string) (args [][]byte) {
	for _, w := range strings.Fields(command) {
		args = append(args, []byte(w))
	}
	return args
}

func (f plainFlow) command() [][]byte {
	args := [][]byte{[]byte("EVAL"), []byte(f.source), fmt.Append(nil, len(f.keys))}
	for _, k := range f.keys {
		args = append(args, []byte(k))
	}
	for _, a := range f.args {
		args = append(args, []byte(a))
	}
	return args
}

// compared returns the reply of a flow and the keyspace after it.
func (f plainFlow) compared(send func(args [][]byte) string) string {
	for _, c := range before {
		send(splitFields(c))
	}
	var b strings.Builder
	b.WriteString(send(f.command()))
	b.WriteString("keyspace\n")
	for _, c := range after {
		b.WriteString(send(splitFields(c)))
	}
	return b.String()
}

// An engineSide is one of the two engines with its own keyspace.
type engineSide struct {
	engine *Engine
	ctx    *commands.Ctx
}

// newSides returns an engine that compiles plain scripts, and one that does
// not.
func newSides(t testing.TB) (compiled, interpreted engineSide) {
	compiled.engine, compiled.ctx = newTestEngine(t)
	interpreted.engine, interpreted.ctx = newTestEngine(t)
	interpreted.engine.options.ForceInterpreter = func() bool { return true }
	return compiled, interpreted
}

func (s engineSide) send(args [][]byte) string { return evaluate(s.engine, s.ctx, resp.RESP2, args) }

func (s engineSide) flushScripts() { s.engine.scripts.flush() }

// TestEnginesAgree runs generated scripts through both engines.
func TestEnginesAgree(t *testing.T) {
	programs := 700
	if testing.Short() || race.Enabled {
		programs = 100 // each takes about ten times as long
	}
	compiled, interpreted := newSides(t)
	plain, failed, bad := 0, 0, 0
	reasons := make(map[string]int)
	for i := range programs {
		s := *seed + uint64(i)
		f := newPlainGenerator(s).flow()
		want := f.compared(interpreted.send)
		got := f.compared(compiled.send)
		if script, err := compiled.engine.scripts.load([]byte(f.source)); err == nil && script.plain != nil {
			plain++
		} else if err == nil {
			reasons[strings.TrimLeft(script.notPlain, "line 0123456789")]++
		}
		if strings.HasPrefix(want, "-") {
			failed++
		}
		if got != want {
			t.Errorf("seed %d\n%s\nkeys %q args %q\n compiled    %q\n interpreted %q", s, f.source, f.keys,
				f.args, got, want)
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
		compiled.flushScripts()
		interpreted.flushScripts()
	}
	t.Logf("seed %d: %d scripts, %d plain, %d ended with an error; %v", *seed, programs, plain, failed,
		reasons)
	require.Greater(t, plain, programs/2)
	require.Greater(t, failed, programs/10)
	require.Greater(t, programs-failed, programs/10)
}

// TestEnginesAgreeSeesADifference changes constants of a program.
func TestEnginesAgreeSeesADifference(t *testing.T) {
	compiled, interpreted := newSides(t)
	f := plainFlow{source: "redis.call('SET', KEYS[1], 5) return 7", keys: []string{"k"}}
	require.Equal(t, f.compared(interpreted.send), f.compared(compiled.send))
	script, err := compiled.engine.scripts.load([]byte(f.source))
	require.NoError(t, err)
	spelled := script.plain.calls[0].fixed
	spelled[2] = []byte("6")
	require.NotEqual(t, f.compared(interpreted.send), f.compared(compiled.send), "the keyspace differs")
	spelled[2] = []byte("5")
	require.Equal(t, f.compared(interpreted.send), f.compared(compiled.send))
	for i, v := range script.plain.constants {
		if v.kind == lua.LTNumber && v.number() == 7 {
			script.plain.constants[i] = plainNumber(8)
		}
	}
	compiled.engine.frames.New = nil
	for compiled.engine.frames.Get() != nil { // frames have copies of the constants
	}
	require.NotEqual(t, f.compared(interpreted.send), f.compared(compiled.send), "the reply differs")
}
