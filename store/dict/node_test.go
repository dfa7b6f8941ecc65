package dict

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestKeysOfEveryLength crosses each border between the pieces, with a value
// that the collector has to follow.
func TestKeysOfEveryLength(t *testing.T) {
	var d Dict[*string]
	var keys []string
	for size := range 200 {
		keys = append(keys, strings.Repeat("x", size))
	}
	keys = append(keys, strings.Repeat("y", 1<<20))
	for _, key := range keys {
		n, created := d.PutString(HashString(key), key)
		require.True(t, created)
		value := strings.Clone(key)
		n.Value = &value
	}
	runtime.GC()
	require.NoError(t, d.check())
	for _, key := range keys {
		n := d.Get(HashString(key), []byte(key))
		require.NotNil(t, n)
		require.Equal(t, key, n.Key())
		require.Equal(t, key, *n.Value)
		moved := n.Renamed(HashString("z"+key), []byte("z"+key))
		require.Equal(t, "z"+key, moved.Key())
		require.Equal(t, key, *moved.Value)
		require.Equal(t, key, n.Key(), "the old node is as it was")
	}
}

// TestAKeyOutlivesItsNode: strings that were handed out stay good.
func TestAKeyOutlivesItsNode(t *testing.T) {
	var d Dict[int]
	var kept []string
	for i := range 1000 {
		key := []byte(strings.Repeat("k", i%90))
		n, _ := d.Put(Hash(key), key)
		clear(key)
		kept = append(kept, n.Key())
		d.Unlink(n)
	}
	runtime.GC()
	for i, key := range kept {
		require.Equal(t, strings.Repeat("k", i%90), key)
	}
}

// TestPiecesAreTight: what Bytes says is what the allocator takes, for the
// nodes of the keyspace and of sorted sets.
func TestPiecesAreTight(t *testing.T) {
	var keyspace Node[[32]byte]
	require.EqualValues(t, 48, unsafe.Sizeof(keyspace))
	require.EqualValues(t, 24, unsafe.Sizeof(Node[float64]{}))
	for size, want := range map[int]int{0: 64, 8: 64, 9: 64, 16: 64, 17: 80, 32: 80, 33: 96, 48: 96, 64: 112, 65: 128, 72: 128} {
		require.Equal(t, 8+want, newNode[[32]byte](0, strings.Repeat("k", size)).Bytes(), "a key of %d bytes", size)
		key := strings.Repeat("k", size)
		require.InDelta(t, want, taken(func() any { return newNode[[32]byte](0, key) }), 1, "a key of %d bytes", size)
	}
	for size, want := range map[int]int{1: 32, 8: 32, 16: 48, 22: 48, 24: 48, 25: 64, 40: 64, 72: 96} {
		require.Equal(t, 8+want, newNode[float64](0, strings.Repeat("k", size)).Bytes(), "a member of %d bytes", size)
	}
	require.Equal(t, 8+48+16+100+8, newNode[[32]byte](0, strings.Repeat("k", 100)).Bytes())
}

// taken is what a node takes in the heap.
func taken(one func() any) float64 {
	const n = 20_000 // so that what others allocate meanwhile is lost in it
	var kept [n]any
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = one()
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(&kept)
	return float64(after.TotalAlloc-before.TotalAlloc) / n
}
