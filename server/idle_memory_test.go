package server_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// TestIdleConnections bounds what an idle connection takes, with the test's own end of it: no buffer, which
// would be 4 KB, and a stack of 4 KB.
func TestIdleConnections(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own, and drops pooled buffers")
	}
	const connections = 2000
	srv := start(t, "--bind", "127.0.0.1")
	taken := func() (heap, stacks uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties pools
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.StackInuse
	}
	call := func(c *wire) { require.Equal(t, "+PONG", c.call(t, "PING")) }
	call(connect(t, srv))
	heap, stacks := taken()
	all := make([]*wire, connections)
	for i := range all {
		all[i] = connect(t, srv)
		call(all[i])
	}
	// Their buffers are free for all of them again.
	for _, c := range all {
		call(c)
	}
	heapAfter, stacksAfter := taken()
	perHeap, perStack := (heapAfter-heap)/connections, (stacksAfter-stacks)/connections
	t.Logf("%d bytes of heap and %d of stack a connection", perHeap, perStack)
	require.Less(t, perHeap, uint64(6000))
	require.LessOrEqual(t, perStack, uint64(4400))
}
