package dict

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The values are pointers, which the garbage collector must follow in nodes of each size.
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
		require.Equal(t, key, n.Key(), "the old node does not change")
	}
}

// TestRoom checks that writing to the room changes nothing else, for keys of every length that has it.
func TestRoom(t *testing.T) {
	var d Dict[*string]
	for size := range 100 {
		key := []byte(strings.Repeat("x", size))
		n, created := d.PutWithRoom(Hash(key), key)
		require.True(t, created)
		value := string(key)
		n.Value = &value
		n.SetStamp(uint32(size))
		n.SetMark(size%2 == 0)
		if size > MaxKeyWithRoom {
			require.Nil(t, n.Room())
			continue
		}
		room := (*[RoomBytes]byte)(n.Room())
		require.Zero(t, *room)
		*room = [RoomBytes]byte{0: byte(size + 1), RoomBytes - 1: byte(size + 1)}
	}
	runtime.GC()
	require.NoError(t, d.check())
	for size := range 100 {
		key := []byte(strings.Repeat("x", size))
		n, created := d.PutWithRoom(Hash(key), key)
		require.False(t, created)
		require.Equal(t, string(key), n.Key())
		require.Equal(t, string(key), *n.Value)
		require.Equal(t, uint32(size), n.Stamp())
		require.Equal(t, size%2 == 0, n.Mark())
		if size <= MaxKeyWithRoom {
			require.Equal(t, [RoomBytes]byte{0: byte(size + 1), RoomBytes - 1: byte(size + 1)},
				*(*[RoomBytes]byte)(n.Room()))
		}
		moved := n.Renamed(HashString("z"+n.Key()), []byte("z"+n.Key()))
		require.Nil(t, moved.Room())
		require.Equal(t, string(key), *moved.Value)
	}
	n, _ := d.PutString(HashString("y"), "y")
	require.Nil(t, n.Room())
}

// Key must stay valid after the node is unlinked.
func TestKeySurvivesNode(t *testing.T) {
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

// Bytes must equal what the allocator uses, for nodes of sorted sets and of the keyspace.
func TestNodeMemory(t *testing.T) {
	requireMemory[float64](t, 24, map[int]int{1: 32, 8: 32, 16: 48, 22: 48, 24: 48, 25: 64, 40: 64, 72: 96})
	requireMemory[[16]byte](t, 32, map[int]int{
		0: 48, 8: 48, 16: 48, 17: 64, 32: 64, 33: 80, 48: 80, 64: 96, 65: 112, 72: 112,
	})
	require.Equal(t, 8+32+16+112, newNode[[16]byte](0, strings.Repeat("k", 100)).Bytes())
	for size, want := range map[int]int{0: 64, 8: 64, 16: 64, 17: 80, 32: 80, 33: 96, 48: 96, 49: 96} {
		key := strings.Repeat("k", size)
		require.Equal(t, 8+want, newRoomyNode[[16]byte](0, key).Bytes(), "a key of %d", size)
		require.InDelta(t, want, heapPerNode(func() any { return newRoomyNode[[16]byte](0, key) }), 1,
			"a key of %d", size)
	}
}

// The size of the key, the mark and the stamp share a word.
func TestStampIsIndependent(t *testing.T) {
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

// Bytes of a table must equal the growth of the heap.
func TestTableMemory(t *testing.T) {
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
		total := int64(0)
		for i := range tables {
			total += tables[i].Bytes()
		}
		require.InEpsilon(t, total, int64(after.HeapAlloc-before.HeapAlloc), 0.03, "%d keys", keys)
		runtime.KeepAlive(tables)
	}
}

// requireMemory checks nodes of the given size. wants has the memory of node and key, by the key's length.
func requireMemory[V any](t *testing.T, node uintptr, wants map[int]int) {
	require.Equal(t, node, unsafe.Sizeof(Node[V]{}))
	for size, want := range wants {
		key := strings.Repeat("k", size)
		require.Equal(t, 8+want, newNode[V](0, key).Bytes(), "a node of %d bytes, a key of %d", node, size)
		require.InDelta(t, want, heapPerNode(func() any { return newNode[V](0, key) }), 1,
			"a node of %d bytes, a key of %d", node, size)
	}
}

// heapPerNode returns the heap memory of a node.
func heapPerNode(one func() any) float64 {
	const n = 20_000 // so many that other allocations do not matter
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
