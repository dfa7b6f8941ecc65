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

// TestPiecesAreTight holds the claim that a node of the keyspace's size leaves
// nothing of its size class unused.
func TestPiecesAreTight(t *testing.T) {
	type value [40]byte
	var n Node[value]
	require.EqualValues(t, 56, unsafe.Sizeof(n))
	for want, size := range map[int]uintptr{
		64: unsafe.Sizeof(node8[value]{}), 80: unsafe.Sizeof(node24[value]{}), 96: unsafe.Sizeof(node40[value]{}),
		112: unsafe.Sizeof(node56[value]{}), 128: unsafe.Sizeof(node72[value]{}),
	} {
		require.EqualValues(t, want, size)
	}
	for _, size := range []int{0, 8, 9, 24, 25, 40, 56, 72} {
		n := newNode[value](0, strings.Repeat("k", size))
		require.Equal(t, 8+64+(size+7)/16*16, n.Bytes(), size)
	}
	require.Equal(t, 8+56+16+100+8, newNode[value](0, strings.Repeat("k", 100)).Bytes())
}
