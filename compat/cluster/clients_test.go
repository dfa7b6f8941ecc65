package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

// TestPlainClient: a client that knows nothing of clusters uses keys of all masters, and commands about all
// keys, as on one server.
func TestPlainClient(t *testing.T) {
	t.Parallel()
	r := startRig(t, nodes.Options{Masters: 3}, patient)
	c := plainClient(r.addrs()[0])
	defer c.Close()
	ctx := t.Context()
	const keys = 300
	p := c.Pipeline()
	for i := range keys {
		p.Set(ctx, fmt.Sprint("key:", i), i, time.Hour)
	}
	_, err := p.Exec(ctx)
	require.NoError(t, err)
	require.EqualValues(t, keys, c.DBSize(ctx).Val())
	found := map[string]bool{}
	for all := c.Scan(ctx, 0, "key:*", 50).Iterator(); all.Next(ctx); {
		found[all.Val()] = true
	}
	require.Len(t, found, keys)
	for _, n := range r.Nodes {
		has, err := n.DBSize(ctx).Result()
		require.NoError(t, err)
		require.Positive(t, has, n.Name)
	}
	require.ErrorContains(t, c.MGet(ctx, "key:1", "key:2", "key:3").Err(), "CROSSSLOT")
	err = c.Do(ctx, "RL.MALLOW", 2, "a", 5, "1m", "b", 5, "1m").Err()
	require.ErrorContains(t, err, "CROSSSLOT")
	require.ErrorContains(t, err, "'a'")
	require.ErrorContains(t, err, "'b'")
	require.NoError(t, c.Do(ctx, "RL.MALLOW", 2, "{u}:a", 5, "1m", "{u}:b", 5, "1m").Err())
	require.NoError(t, c.FlushAll(ctx).Err())
	n, err := r.Count(ctx, "DBSIZE")
	require.NoError(t, err)
	require.Zero(t, n)
}

// askLimit asks n times for a unit of a limit of 5 and returns how often it was granted.
func askLimit(t *testing.T, c redis.UniversalClient, key string, n int) (granted int) {
	t.Helper()
	for range n {
		reply, err := c.Do(t.Context(), "RL.ALLOW", key, 5, "1h").Slice()
		require.NoError(t, err)
		granted += int(reply[0].(int64))
	}
	return granted
}

// TestClusterClients: clients for clusters take the gateways for the cluster. The fifth document's hash tags
// keep the keys of a user together.
func TestClusterClients(t *testing.T) {
	t.Parallel()
	r := startRig(t, nodes.Options{Masters: 3}, patient)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: r.addrs()[:1]})
	defer c.Close()
	plain := plainClient(r.addrs()[1])
	defer plain.Close()
	for tag := range tags {
		key := fmt.Sprintf("rate_limit:{user_%d}:/api/login", tag)
		require.Equal(t, 3, askLimit(t, c, key, 3))
		require.Equal(t, 2, askLimit(t, plain, key, 3), "a plain client at the other gateway")
		p := c.TxPipeline()
		p.Incr(t.Context(), key+":count")
		p.ZCard(t.Context(), key)
		both, err := p.Exec(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 5, both[1].(*redis.IntCmd).Val())
	}

	// The same cluster, by those who know its nodes: keys are where they belong.
	direct := redis.NewClusterClient(&redis.ClusterOptions{Addrs: r.Addrs()})
	defer direct.Close()
	for tag := range tags {
		key := fmt.Sprintf("rate_limit:{user_%d}:/api/login", tag)
		require.EqualValues(t, 5, direct.ZCard(t.Context(), key).Val(), key)
	}
}

// TestPythonCluster does the same with redis-py's client for clusters.
func TestPythonCluster(t *testing.T) {
	t.Parallel()
	const python = "../python/.venv/bin/python"
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("go run -C compat/run . --tests --only cluster installs redis-py first")
	}
	r := startRig(t, nodes.Options{Masters: 3}, patient)
	host, port, _ := strings.Cut(r.addrs()[0], ":")
	const program = `
import sys
from redis.cluster import RedisCluster
c = RedisCluster(host=sys.argv[1], port=int(sys.argv[2]))
for tag in range(12):
    key = "rate_limit:{user_%d}:/api/login" % tag
    print(sum(c.execute_command("RL.ALLOW", key, 5, "1h", target_nodes=c.get_node_from_key(key))[0]
              for _ in range(8)))
c.set("a", 1)
c.set("b", 2)
print(c.get("a").decode() + c.get("b").decode(), c.dbsize())
`
	ctx, cancel := context.WithTimeout(t.Context(), nodes.Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c", program, host, port).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, strings.Repeat("5\n", 12)+"12 14\n", string(out))
}
