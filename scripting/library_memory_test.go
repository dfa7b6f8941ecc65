package scripting

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
)

// libraryLimit is the lua-memory-limit of newLimitedLibraries.
const libraryLimit = 16 << 20

func newLimitedLibraries(t *testing.T) (*Engine, *commands.Ctx) {
	e, c := newTestEngine(t)
	e.SetLimits(0, libraryLimit)
	return e, c
}

// keeping returns the source of a library that keeps about n megabytes from its beginning. Its function
// keeps as many more as its first argument says, and returns how many strings there are.
func keeping(name string, n int) string {
	return fmt.Sprintf("#!lua name=%[1]s\nlocal t={} local function keep(n) for i=1,n*1000 do "+
		"local s='' for j=1,10 do s=s..i..'"+strings.Repeat("x", 92)+"' end t[#t+1]=s end end keep(%[2]d) "+
		"redis.register_function('%[1]s',function(k,a) keep(tonumber(a[1])) return #t end)", name, n)
}

func load(e *Engine, c *commands.Ctx, source string, options ...string) string {
	return doCommand(e, c, append(append([]string{"FUNCTION", "LOAD"}, options...), source)...)
}

func requireRefused(t *testing.T, reply string) {
	t.Helper()
	require.True(t, strings.HasPrefix(reply, "-"), reply)
	require.Regexp(t, "not enough memory|lua-memory-limit", reply)
}

// TestLibrariesAreBounded: all libraries together hold no more than lua-memory-limit, whether they grow when
// they are loaded or when they are called. A refusal leaves them as they were.
func TestLibrariesAreBounded(t *testing.T) {
	race.OneGoroutine(t)
	e, c := newLimitedLibraries(t)
	held := func() int64 { return e.LibraryStats().Held }
	require.Zero(t, held())
	loaded, reply := 0, ""
	for ; loaded < 100; loaded++ {
		if reply = load(e, c, keeping(fmt.Sprint("l", loaded), 3)); strings.HasPrefix(reply, "-") {
			break
		}
		require.Greater(t, held(), int64(3_000_000*(loaded+1)))
		require.LessOrEqual(t, held(), int64(libraryLimit))
	}
	requireRefused(t, reply)
	require.Equal(t, 5, loaded)
	require.Equal(t, loaded, e.LibraryStats().Libraries)

	dump := bulkOf(t, doCommand(e, c, "FUNCTION", "DUMP"))
	requireRefused(t, doCommand(e, c, "FUNCTION", "RESTORE", restored(t, "m", 3), "APPEND"))
	require.Equal(t, loaded, e.LibraryStats().Libraries)
	reply = doCommand(e, c, "FUNCTION", "RESTORE", dump, "REPLACE")
	require.Equal(t, "+OK\r\n", reply, "they replace themselves")
	require.Equal(t, "+OK\r\n", doCommand(e, c, "FUNCTION", "RESTORE", dump, "FLUSH"))

	requireRefused(t, doCommand(e, c, "FCALL", "l0", "0", "8"))
	require.LessOrEqual(t, held(), int64(libraryLimit+libraryLimit/4))
	require.Equal(t, ":3000\r\n", doCommand(e, c, "FCALL", "l1", "0", "0"))
	require.Equal(t, "+OK\r\n", doCommand(e, c, "FUNCTION", "DELETE", "l0"))
	require.Equal(t, "+OK\r\n", doCommand(e, c, "FUNCTION", "DELETE", "l2"))
	require.Equal(t, ":6000\r\n", doCommand(e, c, "FCALL", "l1", "0", "3"), "there is room again")
	require.Greater(t, held(), int64(12_000_000))
	requireRefused(t, load(e, c, keeping("l1", 14), "REPLACE"))
	require.Equal(t, "$2\r\nl1\r\n", load(e, c, keeping("l1", 8), "REPLACE"), "beside the others only")

	c.Mode.Set(commands.Replayed, true) // by a master, or from a file
	require.Equal(t, "$1\r\nm\r\n", load(e, c, keeping("m", 6)))
	require.Greater(t, held(), int64(libraryLimit))
}

// TestHeldIsAnUpperBound: what a library is said to hold is never less than what it holds, and no more than a
// quarter above it.
func TestHeldIsAnUpperBound(t *testing.T) {
	e, c := newLimitedLibraries(t)
	require.Equal(t, "$1\r\nl\r\n", load(e, c, keeping("l", 1)))
	lib := e.library.all()[0]
	for i := range 2000 {
		doCommand(e, c, "FCALL", "l", "0", []string{"0", "0.001"}[i%2])
		said := lib.held.Load()
		if i%100 == 0 {
			holds := stateBytes + lib.in.state.Reachable(math.MaxInt64, lib.roots()...)
			require.GreaterOrEqual(t, said, holds)
			require.LessOrEqual(t, said, holds+holds/4+remeasureBytes)
		}
	}
}

// TestUnlimitedLibrariesAreCounted: without a limit a call is not followed by a measurement.
func TestUnlimitedLibrariesAreCounted(t *testing.T) {
	e, c := newTestEngine(t)
	e.SetLimits(0, 0)
	require.Equal(t, "$1\r\nl\r\n", load(e, c, keeping("l", 1)))
	require.Greater(t, e.LibraryStats().Held, int64(1_000_000))
	lib := e.library.all()[0]
	before := lib.measured
	require.Equal(t, ":1000\r\n", doCommand(e, c, "FCALL", "l", "0", "0"))
	require.Equal(t, before, lib.measured)
	require.Greater(t, lib.held.Load(), before)
	require.Equal(t, ":3000\r\n", doCommand(e, c, "FCALL", "l", "0", "2"))
	require.Greater(t, lib.measured, before+1_900_000)
}

// bulkOf returns the text of a bulk reply.
func bulkOf(t *testing.T, reply string) string {
	t.Helper()
	_, text, ok := strings.Cut(reply, "\r\n")
	require.True(t, ok)
	return strings.TrimSuffix(text, "\r\n")
}

// restored returns a dump of a library that keeps n megabytes.
func restored(t *testing.T, name string, n int) string {
	e, c := newTestEngine(t)
	require.NotContains(t, load(e, c, keeping(name, n)), "-ERR")
	return bulkOf(t, doCommand(e, c, "FUNCTION", "DUMP"))
}

// TestStateBytes: what interpreters take without values is close to what INFO says.
func TestStateBytes(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector adds to the heap; make test measures it without")
	}
	e, _ := newTestEngine(t)
	heapNow := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const n = 100
	for _, persistent := range []bool{true, false} {
		states := make([]*interp, n)
		before := heapNow()
		for i := range states {
			states[i] = newInterp(e, persistent)
		}
		each := (heapNow() - before) / n
		require.LessOrEqual(t, each, int64(stateBytes))
		require.Greater(t, each, int64(stateBytes/2))
		runtime.KeepAlive(states)
	}
	runtime.KeepAlive(e)
}
