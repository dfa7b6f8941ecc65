package server_test

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// attach makes a connection a replica of a node, up to the end of the copy.
func (f *fabric) attach(master *node) *wire {
	t := f.t
	t.Helper()
	w := master.dial(t)
	require.Equal(t, "+OK", doLine(t, w, "REPLCONF capa eof capa psync2"))
	require.NoError(t, w.sendRaw([]byte("PSYNC ? -1\r\n")))
	require.Regexp(t, `^\+FULLRESYNC [0-9a-f]{40} \d+$`, f.await(w))
	readCopy(t, w)
	f.until(func() bool { // until then redis-server ignores confirmations
		persistence, _ := master.info(t, "persistence")
		return persistence["rdb_bgsave_in_progress"] == "0"
	})
	require.NoError(t, w.sendRaw([]byte("REPLCONF ACK 0\r\n")))
	f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
	return w
}

// now returns the node's time.
func (n *node) now(t *testing.T) time.Time {
	t.Helper()
	words := strings.Split(n.do(t, "TIME"), "\r\n")
	require.Len(t, words, 5)
	seconds, err := strconv.ParseInt(words[2], 10, 64)
	require.NoError(t, err)
	us, err := strconv.ParseInt(words[4], 10, 64)
	require.NoError(t, err)
	return time.Unix(seconds, us*1000)
}

// pass lets time pass at a node: the clocks of a server of ours are moved in steps of a second, and
// redis-server, whose periodic work follows no clock that a test can move, is waited for.
func (f *fabric) pass(n *node, d time.Duration) {
	f.t.Helper()
	if n.kind == redis {
		end := n.now(f.t).Add(d)
		f.until(func() bool { return n.now(f.t).After(end) })
		return
	}
	for ; d > 0; d -= time.Second {
		n.jump(f.t, min(d, time.Second))
		f.tick()
	}
}

// TestPingPeriod: a master pings its replicas once in repl-ping-replica-period, which CONFIG SET changes,
// under its old name too. Between two pings nothing else moves the offset.
func TestPingPeriod(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		f.held = k == ours // redis-server's periodic work follows the machine's clock
		master := f.node(k, "--repl-ping-replica-period", "2")
		w := f.attach(master)
		ping := func() {
			t.Helper()
			require.Regexp(t, `^\*[12]\r\n\$4\r\n(PING|ping)`, f.await(w))
		}
		if k == ours { // a replica is pinged when it comes, so that it knows the time
			f.tick()
			ping()
		}
		for _, c := range []struct {
			directive string
			seconds   int
		}{
			{"", 2}, {"repl-ping-replica-period", 1}, {"repl-ping-slave-period", 4},
		} {
			if c.directive != "" {
				master.fill(t, "CONFIG SET "+c.directive+" "+strconv.Itoa(c.seconds))
			}
			require.Equal(t, "*2\r\n$24\r\nrepl-ping-replica-period\r\n$1\r\n"+strconv.Itoa(c.seconds),
				master.do(t, "CONFIG GET repl-ping-replica-period"))
			period := time.Duration(c.seconds) * time.Second
			at := master.offset(t)
			if k == redis {
				var from time.Time // not after the first ping
				f.until(func() bool {
					now := master.now(t)
					pinged := master.offset(t) > at
					if !pinged {
						from = now
					}
					return pinged
				})
				f.until(func() bool { return master.offset(t) >= at+3*int64(len("*1\r\n$4\r\nPING\r\n")) })
				require.Greater(t, master.now(t).Sub(from), 2*period-time.Second/2, "of two periods")
				for range 3 {
					ping()
				}
				continue
			}
			f.pass(master, period)
			ping()
			at = master.offset(t)
			for range 3 {
				f.pass(master, period-100*time.Millisecond)
				require.Equal(t, at, master.offset(t), "early")
				f.pass(master, 100*time.Millisecond)
				require.Greater(t, master.offset(t), at, "late")
				ping()
				at = master.offset(t)
			}
		}
	})
}

// TestBacklogTTL: a master without replicas for longer than repl-backlog-ttl frees its backlog, and its
// history ends with it, so that a replica that comes back is given a copy. With 0 it keeps both, and so does
// a replica.
func TestBacklogTTL(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k, "--repl-backlog-ttl", "0"), f.node(k, "--repl-backlog-ttl", "1")
		f.follow(replica, master)
		master.fill(t, "SET k v")
		f.caughtUp(replica, master)
		alone := func() {
			t.Helper()
			replica.fill(t, "REPLICAOF 127.0.0.1 1")
			f.until(func() bool { return master.field(t, "connected_slaves") == "0" })
		}
		alone()
		id := master.field(t, "master_replid")
		master.fill(t, "SET k w")
		f.pass(master, 4*time.Second)
		f.pass(replica, 4*time.Second)
		require.Equal(t, id, master.field(t, "master_replid"))
		require.Equal(t, "1", master.field(t, "repl_backlog_active"))
		require.Equal(t, "1", replica.field(t, "repl_backlog_active"), "a replica keeps its backlog")
		f.follow(replica, master)
		_, partial := master.counts(t)
		require.Equal(t, "1", partial)
		require.Equal(t, "$1\r\nw", replica.do(t, "GET k"))

		master.fill(t, "CONFIG SET repl-backlog-ttl 3600")
		alone()
		f.pass(master, 2*time.Second)
		require.Equal(t, id, master.field(t, "master_replid"))
		master.fill(t, "CONFIG SET repl-backlog-ttl 1")
		f.pass(master, 3*time.Second)
		f.until(func() bool { return master.field(t, "repl_backlog_active") == "0" })
		require.NotEqual(t, id, master.field(t, "master_replid"))
		require.Equal(t, strings.Repeat("0", 40), master.field(t, "master_replid2"))
		require.Equal(t, "-1", master.field(t, "second_repl_offset"))
		require.Equal(t, "0", master.field(t, "repl_backlog_histlen"))
		master.fill(t, "SET k x")
		fullBefore, _ := master.counts(t)
		f.follow(replica, master)
		full, partial := master.counts(t)
		require.Equal(t, "1 2 1", fullBefore+" "+full+" "+partial)
		require.Equal(t, "$1\r\nx", replica.do(t, "GET k"))
		require.Equal(t, "1", master.field(t, "repl_backlog_active"))
	})
}

// TestAnnouncedAddress: INFO, ROLE and FAILOVER know a replica by what it announces, and by its own address
// otherwise. A change counts from the next handshake on.
func TestAnnouncedAddress(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		_, own := replica.hostPort()
		known := func(ip, port string) {
			t.Helper()
			f.until(func() bool {
				return strings.HasPrefix(master.field(t, "slave0"), "ip="+ip+",port="+port+",state=online,")
			}, "%s:%s, not %s", ip, port, master.field(t, "slave0"))
			item := "*3\r\n$" + strconv.Itoa(len(ip)) + "\r\n" + ip + "\r\n$" + strconv.Itoa(len(port)) +
				"\r\n" + port + "\r\n"
			require.Contains(t, master.do(t, "ROLE"), item)
		}
		again := func() {
			t.Helper()
			_, before := master.counts(t)
			require.Equal(t, ":1", master.do(t, "CLIENT KILL TYPE replica"))
			f.until(func() bool {
				replica.jumpOurs(t, 100*time.Millisecond)
				_, partial := master.counts(t)
				return partial != before && master.field(t, "connected_slaves") == "1"
			})
		}
		f.follow(replica, master)
		known("127.0.0.1", own)
		replica.fill(t, "CONFIG SET replica-announce-ip 10.1.2.3", "CONFIG SET replica-announce-port 7777")
		known("127.0.0.1", own)
		again()
		known("10.1.2.3", "7777")
		list := master.do(t, "CLIENT LIST TYPE replica")
		require.Contains(t, list, " addr=127.0.0.1:", "its connection is where it is")
		require.Equal(t, "-ERR FAILOVER target HOST and PORT is not a replica.",
			master.do(t, "FAILOVER TO 127.0.0.1 "+own))
		replica.fill(t, "CONFIG SET slave-announce-port 0", "CONFIG SET slave-announce-ip limits.example")
		again()
		known("limits.example", own)
		replica.fill(t, `CONFIG SET replica-announce-ip ""`)
		again()
		known("127.0.0.1", own)
		require.Equal(t, "+OK", master.do(t, "FAILOVER TO 127.0.0.1 "+own+" TIMEOUT 60000"))
		f.until(func() bool {
			replica.jumpOurs(t, 100*time.Millisecond)
			return strings.Contains(replica.do(t, "ROLE"), "master")
		})
		require.Contains(t, master.do(t, "ROLE"), own)
	})
}

// TestAnnouncedGarbage: what a replica may not announce is refused in Redis' words, and the rest counts.
func TestAnnouncedGarbage(t *testing.T) {
	t.Parallel()
	said := map[kind][]string{}
	for _, k := range []kind{redis, ours} {
		f := newFabric(t)
		master := f.node(k)
		w := master.dial(t)
		for _, line := range []string{
			"REPLCONF ip-address " + strings.Repeat("h", 256),
			"REPLCONF ip-address " + strings.Repeat("h", 255), "REPLCONF listening-port",
			"REPLCONF listening-port x", "REPLCONF listening-port 99999999999999999999",
			"REPLCONF listening-port -1", "REPLCONF listening-port 70000", "REPLCONF nonsense 1",
			"REPLCONF listening-port 6390 ip-address x nonsense 1", `REPLCONF ip-address ""`,
			"REPLCONF ip-address 10.0.0.7 listening-port 6391",
		} {
			said[k] = append(said[k], line+" "+doLine(t, w, line))
		}
		require.NoError(t, w.sendRaw([]byte("PSYNC ? -1\r\n")))
		require.Contains(t, f.await(w), "+FULLRESYNC")
		said[k] = append(said[k], master.field(t, "slave0")[:len("ip=10.0.0.7,port=6391,")])
	}
	require.Equal(t, said[redis], said[ours])
}

// TestSoftLimitOfReplica: a replica that reads nothing is disconnected when it has been over the soft limit
// of its output buffer for as long as that says, on the server's clock, and not before. One that reads in
// between begins anew.
func TestSoftLimitOfReplica(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		f.held = true
		// Real time passes too, on a busy machine some seconds.
		master := f.node(k, "--client-output-buffer-limit", "replica 0 1mb 500", "--repl-timeout", "100000",
			"--repl-backlog-size", "100kb")
		slow := f.attach(master)
		require.NoError(t, slow.conn.(*net.TCPConn).SetReadBuffer(1<<16))
		value := strings.Repeat("x", 1<<20)
		behind := func() bool { // by more than the sockets hold
			master.fill(t, "SET k "+value)
			memory, _ := master.info(t, "memory")
			n, err := strconv.Atoi(memory["mem_clients_slaves"])
			require.NoError(t, err)
			replicated, err := strconv.Atoi(memory["mem_total_replication_buffers"])
			require.NoError(t, err)
			return max(n, replicated) > 3<<20
		}
		looks := func() { // the server looks, if it ever does
			for range 20 {
				f.tick()
				require.Equal(t, "+PONG", master.do(t, "PING"))
			}
		}
		f.until(behind)
		looks()
		master.jump(t, 400*time.Second)
		master.fill(t, "SET other v")
		looks()
		require.Equal(t, "1", master.field(t, "connected_slaves"), "before the time is up")
		master.jump(t, 102*time.Second) // redis-server counts whole seconds, and one more
		f.until(func() bool {
			master.fill(t, "SET other v")
			return master.field(t, "connected_slaves") == "0"
		}, "it is not disconnected")
		require.Equal(t, "+PONG", master.do(t, "PING"))
	})
}

// TestHardLimitOfReplica: a hard limit below repl-backlog-size is that, since a replica may continue from
// what the backlog has.
func TestHardLimitOfReplica(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master := f.node(k, "--client-output-buffer-limit", "replica 1mb 0 0", "--repl-backlog-size", "64mb")
		slow := f.attach(master)
		require.NoError(t, slow.conn.(*net.TCPConn).SetReadBuffer(1<<16))
		value := strings.Repeat("x", 1<<20)
		for range 24 {
			master.fill(t, "SET k "+value)
			f.tick()
		}
		require.Equal(t, "1", master.field(t, "connected_slaves"), "the backlog has it all")
		master.fill(t, "CONFIG SET repl-backlog-size 2mb")
		f.until(func() bool {
			master.fill(t, "SET k "+value)
			return master.field(t, "connected_slaves") == "0"
		}, "it is not disconnected")
	})
}
