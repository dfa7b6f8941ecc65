package server_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kinds runs a test on a master and a replica of the same kind.
func kinds(t *testing.T, test func(t *testing.T, f *fabric, k kind)) {
	for _, k := range []kind{ours, redis} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			test(t, newFabric(t), k)
		})
	}
}

// TestKilledReplicaGoesOn: CLIENT KILL TYPE replica cuts the link, and the replica goes on where it was.
func TestKilledReplicaGoesOn(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(k)
		f.follow(replica, master)
		list := master.do(t, "CLIENT LIST TYPE replica")
		require.Regexp(t, ` flags=S .* cmd=(psync|replconf) `, list)
		require.Equal(t, 1, strings.Count(list, "id="))
		require.NotContains(t, master.do(t, "CLIENT LIST TYPE normal"), "flags=S")
		master.fill(t, "SET k 1")
		f.requireSame(replica, master)
		require.Equal(t, ":1", master.do(t, "CLIENT KILL TYPE slave"))
		master.fill(t, "SET k 2")
		f.until(func() bool { return replica.do(t, "GET k") == "$1\r\n2" })
		full, partial := master.counts(t)
		require.Equal(t, "1 1", full+" "+partial)
		require.Equal(t, ":1", master.do(t, "CLIENT KILL TYPE replica"))
		f.requireSame(replica, master)
	})
}

// TestReplicaLeavesEvictionToItsMaster: maxmemory of a replica does not act.
func TestReplicaLeavesEvictionToItsMaster(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master := f.node(k)
		replica := f.node(k, "--maxmemory", "1mb", "--maxmemory-policy", "allkeys-lru")
		f.follow(replica, master)
		value := strings.Repeat("x", 10_000)
		for i := range 300 {
			master.fill(t, "SET key:"+strings.Repeat("k", i)+" "+value)
		}
		f.requireSame(replica, master)
		require.Equal(t, ":300", replica.do(t, "DBSIZE"))
		stats, _ := replica.info(t, "stats")
		require.Equal(t, "0", stats["evicted_keys"])
	})
}

// TestReplicaIsNotIdle: the directive timeout closes idle connections, and no replica's.
func TestReplicaIsNotIdle(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(ours)
		f.follow(replica, master)
		idle := master.dial(t)
		require.Equal(t, "+PONG", doLine(t, idle, "PING"))
		master.fill(t, "CONFIG SET timeout 3")
		f.nodes = []*node{replica} // nothing else waits for the master
		require.Contains(t, f.await(idle), "EOF")
		master.wire = master.dial(t)
		require.Contains(t, master.field(t, "slave0"), "state=online")
		full, partial := master.counts(t)
		require.Equal(t, "1 0", full+" "+partial)
	})
}

// TestSilentReplicaIsCut: a replica that confirms nothing for repl-timeout is disconnected, and one that is
// idle but confirms is not, whatever timeout says.
func TestSilentReplicaIsCut(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours, "--timeout", "5"), f.node(ours)
	f.follow(replica, master)
	for range 100 {
		master.jump(t, 10*time.Second)
		replica.jump(t, 2*time.Second)
		f.caughtUp(replica, master)
		f.until(func() bool { return strings.HasSuffix(master.field(t, "slave0"), "lag=0") })
	}
	full, partial := master.counts(t)
	require.Equal(t, "1 0", full+" "+partial)
	f.nodes = []*node{master}
	master.jump(t, 61*time.Second)
	f.until(func() bool { return master.field(t, "connected_slaves") == "0" })
	f.nodes = []*node{master, replica}
	replica.jump(t, 2*time.Second)
	f.requireSame(replica, master)
	_, partial = master.counts(t)
	require.Equal(t, "1", partial)
}

// TestSilentMasterIsLeft: a replica whose master says nothing for repl-timeout connects again.
func TestSilentMasterIsLeft(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours)
	r := newRelay(t, master)
	r.follow(replica)
	f.caughtUp(replica, master)
	r.hold(toReplica, 0) // on the next connections, too, so that the link stays down
	replica.jump(t, 61*time.Second)
	f.until(func() bool { return replica.field(t, "master_link_status") == "down" })
	require.Contains(t, replica.field(t, "master_link_error"), "repl-timeout")
	r.hold(toReplica, -1)
	replica.jump(t, 2*time.Second)
	f.requireSame(replica, master)
}

// TestSlowReplicaIsCut: a replica that reads nothing is disconnected at its output buffer limit, and the
// master's other clients do not notice.
func TestSlowReplicaIsCut(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master := f.node(k, "--client-output-buffer-limit", "replica 4mb 0 0", "--repl-backlog-size", "100kb")
		slow := master.dial(t)
		require.Equal(t, "+OK", doLine(t, slow, "REPLCONF capa eof capa psync2"))
		require.NoError(t, slow.sendRaw([]byte("PSYNC ? -1\r\n")))
		require.Regexp(t, `^\+FULLRESYNC [0-9a-f]{40} \d+$`, f.await(slow))
		readCopy(t, slow)
		require.NoError(t, slow.sendRaw([]byte("REPLCONF ACK 0\r\n")))
		f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
		value := strings.Repeat("x", 1<<20)
		f.until(func() bool {
			master.fill(t, "SET k "+value)
			return master.field(t, "connected_slaves") == "0"
		})
		slow.awaitClose(t)
		require.Equal(t, "+PONG", master.do(t, "PING"))
	})
}

// readCopy reads a copy that a mark ends.
func readCopy(t *testing.T, w *wire) (copied string) {
	t.Helper()
	var head string
	for head == "" {
		line, err := w.r.ReadString('\n')
		require.NoError(t, err)
		head = strings.TrimSpace(line)
	}
	mark := regexp.MustCompile(`^\$EOF:([0-9a-f]{40})$`).FindStringSubmatch(head)
	require.NotNil(t, mark, head)
	var b strings.Builder
	for !strings.HasSuffix(b.String(), mark[1]) {
		c, err := w.r.ReadByte()
		require.NoError(t, err)
		b.WriteByte(c)
	}
	return strings.TrimSuffix(b.String(), mark[1])
}

// TestReplicationIsNotEvicted: maxmemory-clients closes neither the connection to a replica nor that to a
// master.
func TestReplicationIsNotEvicted(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(k)
		f.follow(replica, master)
		for _, n := range []*node{master, replica} {
			n.fill(t, "CLIENT NO-EVICT ON")
			idle, large := n.dial(t), n.dial(t)
			require.Equal(t, "+PONG", doLine(t, idle, "PING"))
			queued := "ECHO " + strings.Repeat("v", 400_000)
			for _, line := range []string{"CLIENT NO-EVICT ON", "MULTI", queued} {
				require.NotRegexp(t, "^-", doLine(t, large, line))
			}
			n.fill(t, "CONFIG SET maxmemory-clients 1")
			require.Contains(t, f.await(idle), "EOF", "whoever can be evicted is")
			f.tick()
			n.fill(t, "CONFIG SET maxmemory-clients 0")
			require.NoError(t, large.conn.Close())
		}
		master.fill(t, "MULTI", "SET a b", "SET c d", "EXEC")
		f.requireSame(replica, master)
		full, partial := master.counts(t)
		require.Equal(t, "1 0", full+" "+partial)
	})
}
