package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
)

// TestReplicationChain: a replica of a replica has what the master has, and hears its messages.
func TestReplicationChain(t *testing.T) {
	t.Parallel()
	for _, chain := range [][]kind{
		{ours, ours, ours}, {ours, redis, ours}, {redis, ours, redis}, {ours, ours, redis}, {
			redis, ours,
			ours,
		},
	} {
		t.Run(fmt.Sprint(chain), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			top, middle, leaf := f.node(chain[0]), f.node(chain[1]), f.node(chain[2])
			top.fill(t, pairingKeys("copy:")...)
			f.follow(middle, top)
			f.follow(leaf, middle)
			top.fill(t, pairingKeys("stream:")...)
			for _, line := range pairingEffects {
				top.do(t, line)
			}
			f.requireSame(middle, top)
			f.requireSame(leaf, top)
			require.Equal(t, top.field(t, "master_replid"), leaf.field(t, "master_replid"))
			listener := leaf.dial(t)
			doLine(t, listener, "SUBSCRIBE news")
			top.do(t, "PUBLISH news x")
			require.Contains(t, f.await(listener), "message")

			// A new copy for the middle is one for the leaf.
			other := f.node(chain[0])
			other.fill(t, "SET other v")
			f.follow(middle, other)
			f.requireSame(leaf, other)
		})
	}
}

// TestPromotion: after the promotion of a replica its siblings and the old master go on without a copy.
func TestPromotion(t *testing.T) {
	t.Parallel()
	for _, k := range [][]kind{{ours, ours, ours}, {redis, ours, redis}, {ours, redis, ours}, {
		redis, ours,
		ours,
	}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			old, heir, sibling := f.node(k[0]), f.node(k[1]), f.node(k[2])
			old.fill(t, pairingKeys("a:")...)
			f.follow(heir, old)
			f.follow(sibling, old)
			old.fill(t, pairingKeys("b:")...)
			f.requireSame(heir, old)
			f.requireSame(sibling, old)
			history := old.field(t, "master_replid")

			require.Equal(t, "+OK", heir.do(t, "REPLICAOF NO ONE"))
			require.Equal(t, history, heir.field(t, "master_replid2"))
			heir.fill(t, "SET k new", "SELECT 4", "SET four v", "SELECT 0")
			fullBefore, _ := heir.counts(t)
			f.follow(sibling, heir)
			f.follow(old, heir)
			f.requireSame(sibling, heir)
			f.requireSame(old, heir)
			full, partial := heir.counts(t)
			require.Equal(t, fullBefore, full, "no copy was needed")
			require.Equal(t, "2", partial)
			for _, n := range []*node{sibling, old} {
				require.Equal(t, heir.field(t, "master_replid"), n.field(t, "master_replid"))
				require.Equal(t, history, n.field(t, "master_replid2"))
				require.Equal(t, "$3\r\nnew", n.do(t, "GET k"))
			}
			heir.fill(t, pairingKeys("c:")...)
			f.requireSame(sibling, heir)
			f.requireSame(old, heir)
		})
	}
}

// TestOldMasterThatWroteMoreGetsACopy: what only the old master has is gone when it follows.
func TestOldMasterThatWroteMoreGetsACopy(t *testing.T) {
	t.Parallel()
	for _, k := range [][]kind{{ours, ours}, {redis, ours}, {ours, redis}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			old, heir := f.node(k[0]), f.node(k[1])
			f.follow(heir, old)
			old.fill(t, "SET shared v")
			f.requireSame(heir, old)
			require.Equal(t, "+OK", heir.do(t, "REPLICAOF NO ONE"))
			old.fill(t, "SET lost v")
			heir.fill(t, "SET new v")
			f.follow(old, heir)
			f.requireSame(old, heir)
			require.Equal(t, "$-1", old.do(t, "GET lost"))
			full, _ := heir.counts(t)
			require.Equal(t, "1", full)
		})
	}
}

// TestRestartedServersGoOn: dump.rdb has the place in the history, so that neither a replica nor a
// master that was restarted costs a copy.
func TestRestartedServersGoOn(t *testing.T) {
	t.Parallel()
	for _, other := range []kind{ours, redis} {
		t.Run("a replica of "+string(other), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			master := f.node(other)
			dir := disk.OS(t.TempDir())
			replica := f.nodeOn(ours, dir)
			master.fill(t, pairingKeys("a:")...)
			f.follow(replica, master)
			require.Equal(t, "+OK", replica.do(t, "SAVE"))
			replica.end()
			f.nodes = f.nodes[:1]
			master.fill(t, pairingKeys("b:")...)
			host, port := master.hostPort()
			replica = f.nodeOn(ours, dir, "--replicaof", host, port)
			f.requireSame(replica, master)
			full, partial := master.counts(t)
			require.Equal(t, "1 1", full+" "+partial)
		})
		t.Run("a master of "+string(other), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			dir := disk.OS(t.TempDir())
			master := f.nodeOn(ours, dir)
			replica := f.node(other)
			master.fill(t, pairingKeys("a:")...)
			f.follow(replica, master)
			master.fill(t, pairingKeys("b:")...)
			f.requireSame(replica, master)
			require.Equal(t, "+OK", master.do(t, "SAVE"))
			master.end()
			f.nodes = []*node{replica}
			f.until(func() bool { return replica.field(t, "master_link_status") == "down" })
			master = f.nodeOn(ours, dir)
			master.fill(t, pairingKeys("c:")...)
			if other == ours {
				replica.jump(t, 2*time.Second)
			}
			f.follow(replica, master)
			f.requireSame(replica, master)
			full, partial := master.counts(t)
			require.Equal(t, "0 1", full+" "+partial)
		})
	}
}

// TestRestartKeepsExpiredKeys: what has expired while a server was down is not left out of a history that
// goes on: the master's next commands may refer to it.
func TestRestartKeepsExpiredKeys(t *testing.T) {
	t.Parallel()
	restart := func(t *testing.T, f *fabric, n *node, dir disk.FS, directives ...string) *node {
		n.end()
		f.nodes = slices.DeleteFunc(f.nodes, func(x *node) bool { return x == n })
		again := &node{kind: ours}
		again.extra.Store((2 * time.Minute).Microseconds())
		again.startOurs(t, dir, append([]string{
			"--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0",
		}, directives...))
		t.Cleanup(again.end)
		f.nodes = append(f.nodes, again)
		again.wire = again.dial(t)
		eventually(t, func() bool { return again.call(t, "PING") == "+PONG" }, func() {})
		return again
	}
	t.Run("a replica", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		dir := disk.OS(t.TempDir())
		master, replica := f.node(ours), f.nodeOn(ours, dir)
		master.fill(t, "ZADD k 1 a 2 b", "PEXPIRE k 60000")
		f.follow(replica, master)
		require.Equal(t, "+OK", replica.do(t, "SAVE"))
		master.fill(t, "ZADD k 3 c", "PEXPIRE k 6000000")
		host, port := master.hostPort()
		replica = restart(t, f, replica, dir, "--replicaof", host, port)
		f.requireSame(replica, master)
		full, partial := master.counts(t)
		require.Equal(t, "1 1", full+" "+partial)
		require.Equal(t, ":3", replica.do(t, "ZCARD k"))
	})
	t.Run("a master", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		dir := disk.OS(t.TempDir())
		master, replica := f.nodeOn(ours, dir), f.node(ours)
		master.fill(t, "ZADD k 1 a 2 b", "PEXPIRE k 60000")
		f.follow(replica, master)
		require.Equal(t, "+OK", master.do(t, "SAVE"))
		master = restart(t, f, master, dir)
		master.fill(t, "ZADD k 3 c")
		replica.jump(t, 2*time.Second)
		f.follow(replica, master)
		f.requireSame(replica, master)
		full, partial := master.counts(t)
		require.Equal(t, "0 1", full+" "+partial)
		require.Equal(t, ":1", replica.do(t, "ZCARD k"))
	})
}

// TestShutdownWhileCopyIsLoaded: half of a copy does not get into files.
func TestShutdownWhileCopyIsLoaded(t *testing.T) {
	t.Parallel()
	for _, directives := range [][]string{{"--save", "3600 1"}, {"--appendonly", "yes"}} {
		t.Run(directives[0], func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			master := f.node(ours)
			for i := range 300 {
				master.fill(t, fmt.Sprintf("SET key:%d %s", i, strings.Repeat("v", 100)))
			}
			dir := disk.OS(t.TempDir())
			directives = append(directives, "--key-load-delay", "10000")
			replica := f.nodeOn(ours, dir, directives...)
			replica.fill(t, "SET own v")
			if directives[0] == "--save" {
				replica.fill(t, "SAVE", "SET changed v")
			}
			host, port := master.hostPort()
			replica.call(t, "REPLICAOF", host, port)
			f.until(func() bool {
				fields, _ := replica.info(t, "keyspace")
				return strings.HasPrefix(replica.do(t, "GET own"), "-LOADING") &&
					strings.HasPrefix(fields["db0"], "keys=")
			})
			replica.end()
			f.nodes = f.nodes[:1]
			replica = f.nodeOn(ours, dir, directives...)
			require.Equal(t, "$1\r\nv", replica.do(t, "GET own"))
			require.Equal(t, ":1", replica.do(t, "DBSIZE"))
		})
	}
}
