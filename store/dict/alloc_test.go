package dict

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestAllocationCeilings(t *testing.T) {
	var d Dict[int]
	keys := make([][]byte, 4096)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "rate_limit:{user_%d}:/api/login", i)
		d.Put(Hash(keys[i]), keys[i])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	i := 0
	next := func() []byte { i++; return keys[i%len(keys)] }
	text := "rate_limit:{user_17}:/api/login"
	sum := 0
	cursor := uint64(0)

	for name, c := range map[string]struct {
		ceiling float64
		run     func()
	}{
		"Get":               {0, func() { k := next(); d.Get(Hash(k), k).Value++ }},
		"Get, absent":       {0, func() { d.Get(Hash(keys[0][1:]), keys[0][1:]) }},
		"GetString":         {0, func() { d.GetString(HashString(text), text).Value++ }},
		"Put, existing":     {0, func() { k := next(); d.Put(Hash(k), k) }},
		"Delete and Insert": {0, func() { k := next(); d.Insert(d.Delete(Hash(k), k)) }},
		"Scan":              {0, func() { cursor = d.Scan(cursor, func(n *Node[int]) { sum += n.Value }) }},
		"Random":            {0, func() { sum += d.Random(rng.Uint64N).Value }},
		"All": {0, func() {
			for n := range d.All() {
				sum += n.Value
			}
		}},
		// The node and the key.
		"Delete and Put": {2, func() { k := next(); d.Delete(Hash(k), k); d.Put(Hash(k), k) }},
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, testing.AllocsPerRun(500, c.run), c.ceiling)
		})
	}
}

// Every sorted set contains a Dict, and every key a node.
func TestSizes(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Dict[int64]{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(Node[int64]{}), uintptr(40))
	var d Dict[int64]
	d.Put(1, []byte("a"))
	require.Len(t, d.segs, 1)
	require.Len(t, d.segs[0], minBuckets)
}
