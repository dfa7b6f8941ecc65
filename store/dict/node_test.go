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
		n.SetTag(uint8(len(key)))
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
		require.Equal(t, uint8(len(key)), moved.Tag())
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

// TestPiecesAreTight: what Bytes says is what the allocator takes, for nodes of
// the sizes that those of sorted sets and of the keyspace have.
func TestPiecesAreTight(t *testing.T) {
	tight[float64](t, 24, map[int]int{1: 32, 8: 32, 16: 48, 22: 48, 24: 48, 25: 64, 40: 64, 72: 96})
	tight[[16]byte](t, 32, map[int]int{0: 48, 8: 48, 16: 48, 17: 64, 32: 64, 33: 80, 48: 80, 64: 96, 65: 112, 72: 112})
	require.Equal(t, 8+32+16+100+8, newNode[[16]byte](0, strings.Repeat("k", 100)).Bytes())
}

// tight checks nodes of so many bytes; wants are theirs and their keys', by the
// keys' lengths.
func tight[V any](t *testing.T, node uintptr, wants map[int]int) {
	require.Equal(t, node, unsafe.Sizeof(Node[V]{}))
	for size, want := range wants {
		key := strings.Repeat("k", size)
		require.Equal(t, 8+want, newNode[V](0, key).Bytes(), "a node of %d bytes, a key of %d", node, size)
		require.InDelta(t, want, taken(func() any { return newNode[V](0, key) }), 1, "a node of %d bytes, a key of %d", node, size)
	}
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
