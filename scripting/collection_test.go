package scripting

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
)

// A script holds its shards, so it does not wait for memory to be returned to
// the system unless the heap grows meanwhile.
func TestCollectionInBackground(t *testing.T) {
	others := make([]byte, 2*garbage)
	calls, release := 0, (chan struct{})(nil)
	original := freeOSMemory
	defer func() { freeOSMemory = original }()
	freeOSMemory = func() { calls++; <-release }
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		m := meter{state: new(lua.State), measure: func(int64) int64 { return 0 }}
		m.begin(runScript, 1<<20)
		for range 3 {
			require.Empty(t, m.collect(1000))
			synctest.Wait()
		}
		require.Equal(t, 1, calls, "one collection at a time")
		require.Negative(t, m.heap.otherBytes)
		close(release)
		synctest.Wait()
		require.Empty(t, m.collect(1000))
		require.GreaterOrEqual(t, m.heap.otherBytes, int64(len(others)))
	})
	runtime.KeepAlive(others)
}
