package nodes

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// TestCluster: what is done to a cluster has happened when the method returns, and keys stay.
func TestCluster(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip(err)
	}
	ctx := t.Context()
	c, err := Start(ctx, t.TempDir(), Options{
		Masters: 3, Replicas: 1, Proxied: true, NodeTimeout: 5 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { _ = client.Close() })
	const keys = 3000
	filling := client.Pipeline()
	for i := range keys {
		filling.Set(ctx, "key:"+strconv.Itoa(i), i, 0)
	}
	_, err = filling.Exec(ctx)
	require.NoError(t, err)
	count := func() int64 {
		n, err := c.Count(ctx, "DBSIZE")
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, keys, count())

	masters, err := c.Masters(ctx)
	require.NoError(t, err)
	require.Equal(t, c.Nodes[:3], masters)
	added, err := c.AddNode(ctx)
	require.NoError(t, err)
	slots, err := masters[0].Slots(ctx)
	require.NoError(t, err)
	require.NoError(t, c.MoveSlots(ctx, masters[0], added, slots[:100]))
	require.NoError(t, c.AwaitReady(ctx))
	require.EqualValues(t, keys, count())
	has, err := added.DBSize(ctx).Result()
	require.NoError(t, err)
	require.Positive(t, has)
	require.NoError(t, c.MoveSlots(ctx, added, masters[0], slots[:100]))
	require.NoError(t, c.AwaitReady(ctx))
	require.NoError(t, c.RemoveNode(ctx, added))
	require.NoError(t, c.AwaitReady(ctx))
	require.EqualValues(t, keys, count())

	owner, err := c.Owner(ctx, "key:0")
	require.NoError(t, err)
	slot, err := c.Nodes[4].ClusterKeySlot(ctx, "key:0").Result()
	require.NoError(t, err)
	owner.Kill()
	promoted, err := c.AwaitOwner(ctx, int(slot), owner)
	require.NoError(t, err)
	require.NotSame(t, owner, promoted)
	require.NoError(t, owner.Start())
	require.NoError(t, c.AwaitReady(ctx))
	require.EqualValues(t, keys, count())
}

// TestProxy: a cut proxy keeps clients off, and lets replicas follow.
func TestProxy(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip(err)
	}
	ctx := t.Context()
	c, err := Start(ctx, t.TempDir(), Options{Masters: 3, Replicas: 1, Proxied: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	master := c.Nodes[0]
	client := redis.NewClient(&redis.Options{Addr: Addr(master.Proxy.Port), ReadTimeout: Patience})
	t.Cleanup(func() { _ = client.Close() })
	require.NoError(t, client.Ping(ctx).Err())
	master.Proxy.Cut()
	replied := make(chan error, 1)
	go func() { replied <- client.Ping(context.Background()).Err() }()
	slots, err := master.Slots(ctx)
	require.NoError(t, err)
	key := keyOf(t, master, slots)
	require.NoError(t, master.Set(ctx, key, 1, 0).Err())
	n, err := master.Do(ctx, "WAIT", 1, Patience.Milliseconds()).Int()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	select {
	case err := <-replied:
		t.Fatal("the proxy carries a reply", err)
	default:
	}
	master.Proxy.Heal()
	require.NoError(t, <-replied)
}

// keyOf returns a key of a node.
func keyOf(t *testing.T, n *Node, slots []int) string {
	t.Helper()
	for i := 0; ; i++ {
		slot, err := n.ClusterKeySlot(t.Context(), strconv.Itoa(i)).Result()
		require.NoError(t, err)
		if int(slot) >= slots[0] && int(slot) <= slots[len(slots)-1] {
			return strconv.Itoa(i)
		}
	}
}
