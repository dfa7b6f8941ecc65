package dict

import (
	"runtime"
	"strconv"
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
		n.SetStamp(uint32(len(key)))
		n.SetMark(len(key)%2 == 0)
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
		require.Equal(t, uint32(len(key)), moved.Stamp())
		require.False(t, moved.Mark())
		require.Equal(t, uint32(len(key)), n.Stamp())
		require.Equal(t, len(key)%2 == 0, n.Mark())
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
	require.Equal(t, 8+32+16+112, newNode[[16]byte](0, strings.Repeat("k", 100)).Bytes())
}

// TestTheStampIsAlone: the size of the key, the mark and the stamp share a word.
func TestTheStampIsAlone(t *testing.T) {
	for _, key := range []string{"", "k", strings.Repeat("k", maxShort), strings.Repeat("k", maxShort+1)} {
		n := newNode[int](7, key)
		for _, stamp := range []uint32{0, 1, 0xabcdef, MaxStamp} {
			for _, mark := range []bool{true, false} {
				n.SetStamp(stamp)
				n.SetMark(mark)
				require.Equal(t, stamp, n.Stamp())
				require.Equal(t, mark, n.Mark())
				require.Equal(t, key, n.Key())
			}
		}
	}
}

// TestBytesOfATable: what a table says of itself is what the heap grows by.
func TestBytesOfATable(t *testing.T) {
	var before, after runtime.MemStats
	for _, keys := range []int{100, 1_000, 30_000} {
		tables := make([]Dict[[16]byte], 100_000/keys)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range tables {
			for k := range keys {
				key := strconv.Itoa(k * 1_000_003)
				tables[i].PutString(HashString(key), key)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		said := int64(0)
		for i := range tables {
			said += tables[i].Bytes()
		}
		require.InEpsilon(t, said, int64(after.HeapAlloc-before.HeapAlloc), 0.03, "%d keys", keys)
		runtime.KeepAlive(tables)
	}
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
