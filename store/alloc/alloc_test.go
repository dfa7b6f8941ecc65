package alloc

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// sizes returns sizes on both sides of each size class.
func sizes() (out []int) {
	for _, class := range classes {
		out = append(out, int(class)-1, int(class), int(class)+1)
	}
	return append(out, 40_000, 65_536, 100_000)
}

// append rounds the capacity up to the size of its memory.
func TestBytesMatchAllocator(t *testing.T) {
	for _, n := range sizes() {
		if n < tiny {
			continue
		}
		capacity := cap(append([]byte(nil), make([]byte, n)...))
		require.Equal(t, int64(capacity), Bytes(n), n)
	}
}

func TestPointersMatchAllocator(t *testing.T) {
	for _, n := range sizes() {
		if n < tiny || n > 32_768-header {
			continue
		}
		n = (n + 7) / 8 * 8
		capacity := 8 * cap(append([]*int(nil), make([]*int, n/8)...))
		if n > headerMin {
			capacity += header
		}
		require.Equal(t, int64(capacity), Pointers(n), n)
	}
}

// As many tiny objects of one size share a block as fit.
func TestTinyObjectsShareBlocks(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector each tiny object has a block of its own")
	}
	for n := 2; n < tiny; n++ { // strings of one byte are the runtime's own
		require.InDelta(t, heapPerString(n), float64(Bytes(n)), 2, n)
	}
	for n := range 100 {
		require.LessOrEqual(t, Bytes(n), Single(n))
		require.LessOrEqual(t, Single(n)-Bytes(n), int64(tiny/2))
	}
	for _, n := range []int{0, -1, -1 << 62} {
		require.Zero(t, Single(n))
		require.Zero(t, Bytes(n))
		require.Zero(t, Pointers(n))
	}
}

// heapPerString returns the heap memory of one string of n bytes.
func heapPerString(n int) float64 {
	const many = 50_000
	kept := make([]string, many)
	text := make([]byte, n)
	before := heap() // includes the slice
	for i := range kept {
		kept[i] = string(append(text[:0], text...))
	}
	after := heap()
	runtime.KeepAlive(kept)
	return float64(int64(after-before)) / many
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
