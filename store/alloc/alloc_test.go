package alloc

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// sizes are on both sides of every border.
func sizes() (out []int) {
	for _, class := range classes {
		out = append(out, int(class)-1, int(class), int(class)+1)
	}
	return append(out, 40_000, 65_536, 100_000)
}

// What is reckoned is what an append takes, which rounds its room up to all that
// it was given.
func TestBytesAreWhatTheAllocatorTakes(t *testing.T) {
	for _, n := range sizes() {
		if n < tiny {
			continue
		}
		room := cap(append([]byte(nil), make([]byte, n)...))
		require.Equal(t, int64(room), Bytes(n), n)
	}
}

func TestPointersAreWhatTheAllocatorTakes(t *testing.T) {
	for _, n := range sizes() {
		if n < tiny || n > 32_768-header {
			continue
		}
		n = (n + 7) / 8 * 8
		room := 8 * cap(append([]*int(nil), make([]*int, n/8)...))
		if n > headerFrom {
			room += header
		}
		require.Equal(t, int64(room), Pointers(n), n)
	}
}

// Of tiny objects of one size as many share a block as fit.
func TestTinyObjectsShareBlocks(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector each tiny object has a block of its own")
	}
	for n := 2; n < tiny; n++ { // a byte alone is one of the runtime's own
		require.InDelta(t, taken(n), float64(Bytes(n)), 2, n)
	}
	for n := range 100 {
		require.LessOrEqual(t, Bytes(n), Alone(n))
		require.LessOrEqual(t, Alone(n)-Bytes(n), int64(tiny/2))
	}
	for _, n := range []int{0, -1, -1 << 62} {
		require.Zero(t, Alone(n))
		require.Zero(t, Bytes(n))
		require.Zero(t, Pointers(n))
	}
}

// taken is what one string of n bytes takes in the heap.
func taken(n int) float64 {
	const many = 50_000
	kept := make([]string, many)
	text := make([]byte, n)
	before := heap() // the slice is in it
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
