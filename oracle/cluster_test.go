package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCluster: the nodes serve all slots, and their clocks stand where they are set.
func TestCluster(t *testing.T) {
	if err := Find(); err != nil {
		t.Skip(err)
	}
	c, err := StartCluster(Options{NowMs: testNowMs}, 3)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.Len(t, c.Addrs(), 3)
	const hourMs = 3_600_000
	for _, nowMs := range []int64{testNowMs, testNowMs + 24*hourMs} {
		require.NoError(t, c.SetClock(nowMs))
		for i, key := range []string{"c", "a", "b"} { // of the first node, and so on: CLUSTER KEYSLOT
			require.Equal(t, "OK", ask(t, c.nodes[owner(t, c, key)], "SET "+key+" 1"), i)
		}
	}
}

// owner returns which node has a key.
func owner(t *testing.T, c *Cluster, key string) int {
	slot := ask(t, c.nodes[0], "CLUSTER KEYSLOT "+key).(int64)
	return min(int(slot)*len(c.nodes)/slots, len(c.nodes)-1)
}
