package lua_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// sources reads a file of testdata with a name and a source in each line.
func sources(t testing.TB, file string) map[string]string {
	data, err := os.ReadFile("testdata/" + file + ".txt")
	require.NoError(t, err)
	all := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		name, source, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		require.True(t, found, line)
		all[name] = source
	}
	return all
}

// TestEndlessSources lets sources that do not end run out of steps: neither a pcall nor a coroutine catches
// the end, and no more than a lot of steps follow.
func TestEndlessSources(t *testing.T) {
	for name, source := range sources(t, "endless") {
		t.Run(name, func(t *testing.T) {
			s := luatest.NewState()
			polls := 0
			s.Steps = 1000
			s.Poll = func() string {
				if polls++; polls < 100 {
					s.Steps = 1000
					return ""
				}
				s.Steps = 0
				return "stopped"
			}
			s.Measure = func(n int64) string { s.Room = 1 << 30; return "" }
			require.Equal(t, "stopped", luatest.RunIn(s, source+" return 'ended'"))
			require.LessOrEqual(t, polls, 101)
		})
	}
}

// TestBombs lets sources run into the memory limit. What the meter has counted must bound what Go has
// allocated.
func TestBombs(t *testing.T) {
	const limit, factor = 64 << 20, 4
	for name, source := range sources(t, "bombs") {
		t.Run(name, func(t *testing.T) {
			s := luatest.NewState()
			s.Steps = 1 << 40
			s.Room = limit
			s.Measure = func(int64) string { s.Room = 0; return "not enough memory" }
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			result := luatest.RunIn(s, source+" return 'ended'")
			runtime.ReadMemStats(&after)
			require.Equal(t, "error not enough memory", result)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(factor*limit))
			require.Less(t, s.Scratch(), int64(1<<20))
			s.Room = limit
			require.Equal(t, "ok 1", luatest.RunIn(s, "return 1"), "the state can be used again")
		})
	}
}

// TestMemoryErrorIsCaught lets a source catch the error and go on.
func TestMemoryErrorIsCaught(t *testing.T) {
	s := luatest.NewState()
	s.Room = 8 << 20
	s.Measure = func(n int64) string {
		s.Room = 1 << 20
		if n > 1<<20 {
			return "not enough memory"
		}
		return ""
	}
	require.Equal(t, "ok false not enough memory 3",
		luatest.RunIn(s, "local ok, e = pcall(string.rep, 'x', 1e8) local t = {1, 2, 3} return ok, e, #t"))
}

// TestBytecodeIsRefused loads what string.dump returns, and C Lua's header.
func TestBytecodeIsRefused(t *testing.T) {
	const refusal = "unexpected symbol near 'char(27)'"
	require.Contains(t, luatest.Run("return loadstring(string.dump(function() end))"), refusal)
	require.Contains(t, luatest.Run("\x1bLua"), refusal)
}

// TestErrorObjects lets a host see what an error that is no text was.
func TestErrorObjects(t *testing.T) {
	s := luatest.NewState()
	fn, err := s.Load("error({code = 7})", "@user_script")
	require.NoError(t, err)
	L := s.Main()
	L.Push(lua.FunctionValue(fn))
	e := L.PCall(0, lua.Nil)
	require.NotNil(t, e)
	require.True(t, e.Value.IsTable())
	code := e.Value.Table().GetString("code")
	require.InDelta(t, 7, code.Num(), 0)
	require.Equal(t, "@user_script", e.Source)
	require.Equal(t, 1, e.Line)
	require.Zero(t, L.Top())
}
