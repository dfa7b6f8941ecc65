package server_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// failedOver waits until FAILOVER has ended on a node, and requires its role.
func (f *fabric) failedOver(n *node, role string) {
	f.t.Helper()
	f.until(func() bool {
		return n.field(f.t, "master_failover_state") == "no-failover" && n.field(f.t, "role") == role
	}, "the failover does not end")
}

// TestFailover: master and replica exchange their roles. Nothing is copied, and no write is lost.
func TestFailover(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		master.fill(t, "SET k v", "SET gone v PX 100000", "ZADD z 1 a")
		f.follow(replica, master)
		f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
		blocked, writer := master.dial(t), master.dial(t)
		require.NoError(t, blocked.send(wordsOf(t, "BLPOP list 0")))
		f.blockedClients(master, 1)
		master.fill(t, "SET last v", "FAILOVER")
		require.NoError(t, writer.send(wordsOf(t, "SET late v")))
		require.Contains(t, f.await(blocked), "-UNBLOCKED")
		require.Contains(t, f.await(writer), "-READONLY", "it was postponed until the roles had changed")
		f.failedOver(master, "slave")
		f.failedOver(replica, "master")
		f.requireSame(master, replica)
		require.Equal(t, "$1\r\nv", replica.do(t, "GET last"))
		replica.fill(t, "SET after v")
		f.requireSame(master, replica)
		full, partial := replica.counts(t)
		require.Equal(t, []string{"0", "1"}, []string{full, partial})

		// And back, by name.
		host, port := master.hostPort()
		f.until(func() bool { return strings.Contains(replica.field(t, "slave0"), "state=online") })
		require.Equal(t, "+OK", replica.do(t, fmt.Sprint("FAILOVER TO ", host, " ", port, " TIMEOUT 100000")))
		f.failedOver(replica, "slave")
		f.failedOver(master, "master")
		master.fill(t, "SET back v")
		f.requireSame(replica, master)
		full, _ = master.counts(t)
		require.Equal(t, "1", full, "the first one")
	})
}

// TestFailoverWithOthers: other replicas follow the old master to the new one without a copy.
func TestFailoverWithOthers(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		other := f.node(ours)
		master.fill(t, "SET k v")
		f.follow(replica, master)
		f.follow(other, master)
		host, port := replica.hostPort()
		f.until(func() bool {
			return strings.HasPrefix(
				master.do(t, fmt.Sprint("FAILOVER TO ", host, " ", port, " TIMEOUT 100000")), "+OK")
		})
		f.failedOver(master, "slave")
		replica.fill(t, "SET after v")
		f.requireSame(master, replica)
		f.requireSame(other, replica)
		full, _ := master.counts(t)
		require.Equal(t, "2", full)
	})
}

// attachSilent makes a node have a replica that never confirms anything, and listens on port.
func (f *fabric) attachSilent(master *node, port string) *wire {
	f.t.Helper()
	c, err := net.Dial("tcp", master.addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { c.Close() })
	w := newWire(c)
	require.Equal(f.t, "+OK", doLine(f.t, w, "REPLCONF listening-port "+port+" capa eof capa psync2"))
	require.Regexp(f.t, `^\+CONTINUE`,
		doLine(f.t, w, fmt.Sprint("PSYNC ", master.field(f.t, "master_replid"), " ", master.offset(f.t)+1)))
	go func() { // it reads
		buf := make([]byte, 1<<16)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}()
	f.until(func() bool {
		return strings.Contains(master.field(f.t, "slave0"), "port="+port+",state=online")
	})
	return w
}

// masterOfSilent returns a master with a replica that confirms nothing by itself, and the connection of that.
func (f *fabric) masterOfSilent(k kind, port string) (*node, net.Conn) {
	f.t.Helper()
	master, replica := f.node(k), f.node(ours)
	f.follow(replica, master)
	replica.fill(f.t, "REPLICAOF NO ONE")
	f.until(func() bool { return master.field(f.t, "connected_slaves") == "0" })
	silent := f.attachSilent(master, port).conn
	master.fill(f.t, "SET k v")
	return master, silent
}

// TestFailoverThatWaits: while no replica has everything, writes wait and everything else goes on, until the
// failover is aborted or its time is up.
func TestFailoverThatWaits(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, _ := f.masterOfSilent(k, "1")
		_, own := master.hostPort()
		require.Equal(t, "+OK", master.do(t, "FAILOVER TO 127.0.0.1 1"))
		require.Equal(t, "waiting-for-sync", master.field(t, "master_failover_state"))
		for line, want := range map[string]string{
			"FAILOVER":                     "-ERR FAILOVER already in progress.",
			"FAILOVER ABORT x":             "-ERR syntax error",
			"REPLICAOF NO ONE":             "-ERR REPLICAOF not allowed while failing over.",
			"REPLICAOF 127.0.0.1 " + own:   "-ERR REPLICAOF not allowed while failing over.",
			"CONFIG SET replicaof \"a 1\"": "-ERR CONFIG SET failed",
			"PSYNC ? -1":                   "-NOMASTERLINK Can't SYNC while failing over",
			"CLIENT UNPAUSE":               "+OK",
			"GET k":                        "$1",
		} {
			require.Contains(t, master.do(t, line), want, line)
		}
		writer := master.dial(t)
		require.NoError(t, writer.send(wordsOf(t, "SET k late")))
		f.blockedClients(master, 1)
		require.Equal(t, "$1\r\nv", master.do(t, "GET k"))
		require.Equal(t, "+OK", master.do(t, "FAILOVER ABORT"))
		require.Equal(t, "+OK", f.await(writer))
		require.Equal(t, "-ERR No failover in progress.", master.do(t, "FAILOVER ABORT"))
		require.Equal(t, "no-failover", master.field(t, "master_failover_state"))

		require.Equal(t, "+OK", master.do(t, "FAILOVER TIMEOUT 1"))
		require.NoError(t, writer.send(wordsOf(t, "SET k later")))
		require.Equal(t, "+OK", f.await(writer))
		f.failedOver(master, "master")
	})
}

// TestFailoverByForce: at the timeout the target is asked whatever it has, and the failover can still be
// aborted while it does not answer. The server is then the master again.
func TestFailoverByForce(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // it accepts nothing, so the handshake hangs
		_, port, _ := net.SplitHostPort(l.Addr().String())
		master, _ := f.masterOfSilent(k, port)
		id := master.field(t, "master_replid")
		writer := master.dial(t)
		master.fill(t, "CLIENT PAUSE 100000000 WRITE")
		require.NoError(t, writer.send(wordsOf(t, "SET k late")))
		f.blockedClients(master, 1)
		require.Equal(t, "+OK", master.do(t, "FAILOVER TO 127.0.0.1 "+port+" FORCE TIMEOUT 1"))
		f.until(func() bool { return master.field(t, "master_failover_state") == "failover-in-progress" })
		require.Equal(t, "slave", master.field(t, "role"))
		require.Equal(t, "-ERR FAILOVER already in progress.", master.do(t, "FAILOVER"))
		require.Contains(t, master.do(t, "SET k w"), "-READONLY")
		master.fill(t, "CLIENT UNPAUSE")
		require.Equal(t, "$1\r\nv", master.do(t, "GET k"), "the failover postpones it yet")
		require.Equal(t, "+OK", master.do(t, "FAILOVER ABORT"))
		require.Equal(t, "+OK", f.await(writer), "it is the master again")
		f.failedOver(master, "master")
		require.Equal(t, "$4\r\nlate", master.do(t, "GET k"))
		require.NotEqual(t, id, master.field(t, "master_replid"))
		require.Equal(t, id, master.field(t, "master_replid2"))
	})
}

// TestFailoverRefused: a target that refuses to be a master leaves the master what it was.
func TestFailoverRefused(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		target := f.node(ours) // a master
		_, port := target.hostPort()
		master, _ := f.masterOfSilent(k, port)
		require.Equal(t, "+OK", master.do(t, "FAILOVER TO 127.0.0.1 "+port+" FORCE TIMEOUT 1"))
		f.failedOver(master, "master")
		master.fill(t, "SET k w")
		require.Equal(t, "$1\r\nw", master.do(t, "GET k"))
	})
}

// TestPromotionByPSYNC: only a replica that has the history is promoted by PSYNC.
func TestPromotionByPSYNC(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(ours), f.node(k)
		f.follow(replica, master)
		id := master.field(t, "master_replid")
		require.Equal(t, "-ERR PSYNC FAILOVER can't be sent to a master.",
			master.do(t, "PSYNC "+id+" 1 FAILOVER"))
		require.Equal(t, "-ERR PSYNC FAILOVER replid must match my replid.",
			replica.do(t, "PSYNC ? -1 failover"))
		require.Equal(t, "slave", replica.field(t, "role"))
		w := replica.dial(t)
		at := fmt.Sprint(replica.offset(t) + 1)
		require.Regexp(t, `^\+CONTINUE`, doLine(t, w, "PSYNC "+id+" "+at+" failover"))
		require.Equal(t, "master", replica.field(t, "role"))
	})
}
