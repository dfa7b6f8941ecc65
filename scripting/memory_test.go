package scripting

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

func heapBytes() uint64 {
	sample := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(sample)
	return sample[0].Value.Uint64() + sample[1].Value.Uint64()
}

// TestMemoryBombs runs scripts that allocate without end in different ways. The heap grows by at most the
// limit and 64 MB, as measured at every poll.
func TestMemoryBombs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector multiplies the memory that is measured")
	}
	const limit = 6 << 20
	base, peak := uint64(0), uint64(0)
	e, c := newTestEngine(t)
	e.SetLimits(0, limit)
	e.runs = newRunTracker(func() int64 { peak = max(peak, heapBytes()); return 0 }, 1)
	for _, s := range sources(t, "bombs") {
		t.Run(s.name, func(t *testing.T) {
			runtime.GC()
			base, peak = heapBytes(), 0
			reply := evaluate(e, c, resp.RESP2, evalArgs(s.text))
			peak = max(peak, heapBytes())
			t.Logf("%d MB more at the peak: %.100q", (int64(peak)-int64(base))>>20, reply)
			require.Less(t, int64(peak)-int64(base), int64(limit+64<<20))
			if want, ends := endings[s.name]; ends {
				require.Equal(t, want, reply)
			} else {
				require.Contains(t, reply, errNoMemory)
			}
			require.Equal(t, "$2\r\n1a\r\n", evaluate(e, c, resp.RESP2, evalArgs("return 1 .. 'a'")))
		})
	}
}

// endings are the replies to bombs that do not run out of memory.
var endings = map[string]string{
	"small parts kept":     "$4\r\nfine\r\n",
	"cmsgpack.pack caught": "$23\r\nnot enough memory100001\r\n",
	"loadstring":           "$-1\r\n",
	"array far":            "$-1\r\n", // one field
	"array far by insert":  "$-1\r\n",
	"array far by rawset":  "$-1\r\n",
	"hash emptied":         "$-1\r\n", // the room of removed keys is used again
	"recursion in pcall":   "$-1\r\n", // the error is caught
}

// TestNothingIsHeldAfterAScript checks that a pooled state keeps nothing large of the script that it has run.
func TestNothingIsHeldAfterAScript(t *testing.T) {
	const size = 16 << 20
	if race.Enabled {
		t.Skip("the race detector multiplies the memory that is measured")
	}
	e, c := newTestEngine(t)
	limit := int64(0)
	e.SetLimits(0, limit)
	run := func(source string) { evaluate(e, c, resp.RESP2, evalArgs(source)) }
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	// What is in the arena is emptied anyway.
	const used = "local t = {} " +
		"for i = 1, 100 do local j = i t[i] = function() return j end end "
	for name, source := range map[string]string{
		"a register":             "local function f() local s = LONG end f() return 1",
		"an error":               "error(LONG)",
		"a caught error":         "pcall(error, LONG) return 1",
		"an error of a function": "pcall(function() error(LONG) end) return 1",
		"a closure":              used + "local s = LONG local function f() return #s end f() return 1",
		"a handler": used + "local s = LONG " +
			"xpcall(function() pcall(function() end) end, function() return s end)",
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit = range []int64{0, 256 << 20} {
				run("return 1")
				before := held()
				run(strings.Replace(source, "LONG", "string.rep('x', 16 * 1024 * 1024)", 1))
				require.Less(t, held()-before, int64(size/2), "limit %d", limit)
			}
		})
	}
}
