package server_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// TestIdleConnections bounds what an idle connection takes, with the test's own end of it: no buffer, which
// would be 4 KB, and a stack of 4 KB. It runs in a process of its own, where no other test's memory is freed
// meanwhile.
func TestIdleConnections(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own, and drops pooled buffers")
	}
	const alone = "ZLIMIT_TEST_ALONE"
	if os.Getenv(alone) == "" {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "bytes of heap")
		t.Logf("%s", out)
		return
	}
	const connections = 2000
	srv := start(t, "--bind", "127.0.0.1")
	taken := func() (heap, stacks int64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc), int64(m.StackInuse)
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
	require.Positive(t, perHeap, "more was freed than the connections take")
	require.Less(t, perHeap, int64(6000))
	require.LessOrEqual(t, perStack, int64(4400))
}
