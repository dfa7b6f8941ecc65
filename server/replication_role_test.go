package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
)

// TestReplicaInvalidatesTrackedKeys: CLIENT TRACKING on a replica hears of what the master changes.
func TestReplicaInvalidatesTrackedKeys(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours)
	f.follow(replica, master)
	w := replica.dial(t)
	for _, line := range []string{"HELLO 3", "CLIENT TRACKING ON", "GET k"} {
		require.NotRegexp(t, "^-", doLine(t, w, line))
	}
	master.fill(t, "SET k v")
	f.requireSame(replica, master)
	require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk", f.await(w))
}

// TestReplicaKeepsExpiredKeys: neither the end of a pause nor a promotion during one changes when a replica
// removes keys.
func TestReplicaKeepsExpiredKeys(t *testing.T) {
	t.Parallel()
	tick := func(n *node) {
		for range 100 {
			n.srv.Engine().Tick()
		}
	}
	t.Run("after a pause", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		master, replica := f.node(ours), f.node(ours)
		master.fill(t, "ZADD k 1 a", "PEXPIRE k 60000")
		f.follow(replica, master)
		replica.fill(t, "CLIENT PAUSE 1 WRITE", "CLIENT UNPAUSE")
		replica.jump(t, 2*time.Minute)
		require.Equal(t, ":0", replica.do(t, "ZCARD k"))
		tick(replica)
		master.fill(t, "ZADD k 2 b", "PEXPIRE k 6000000")
		f.requireSame(replica, master)
		require.Equal(t, ":2", replica.do(t, "ZCARD k"))
	})
	t.Run("promoted in a pause", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		master, replica := f.node(ours), f.node(ours)
		master.fill(t, "SET k v PX 60000")
		f.follow(replica, master)
		replica.fill(t, "CLIENT PAUSE 100000000 WRITE")
		require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
		replica.jump(t, 2*time.Minute)
		tick(replica)
		require.Equal(t, ":1", replica.do(t, "DBSIZE"), "a pause keeps keys")
		replica.fill(t, "CLIENT UNPAUSE")
		tick(replica)
		require.Equal(t, ":0", replica.do(t, "DBSIZE"))
	})
}

// TestExecWhileCopyIsLoaded: no transaction sees or changes keys, or the role, while a copy is loaded.
func TestExecWhileCopyIsLoaded(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master := f.node(ours)
		args := []string{"--key-load-delay", "20000"}
		if k == redis {
			args = append(args, "--loading-process-events-interval-bytes", "1024")
		}
		replica := f.node(k, args...)
		replica.fill(t, "SET first x")
		for i := range 300 {
			master.fill(t, fmt.Sprintf("SET key:%d %s", i, strings.Repeat("v", 100)))
		}
		queues := map[*wire]string{}
		for _, line := range []string{"GET first", "REPLICAOF NO ONE"} {
			w := replica.dial(t)
			doLine(t, w, "MULTI")
			require.Equal(t, "+QUEUED", doLine(t, w, line))
			queues[w] = line
		}
		host, port := master.hostPort()
		replica.call(t, "REPLICAOF", host, port)
		f.until(func() bool { return strings.HasPrefix(replica.do(t, "GET first"), "-LOADING") })
		require.Contains(t, replica.do(t, "SET a b"), "-READONLY")
		for w, line := range queues {
			require.Equal(t, "-EXECABORT Transaction discarded because of: "+
				"LOADING Redis is loading the dataset in memory", doLine(t, w, "EXEC"), line)
		}
		replica.fill(t, "CONFIG SET key-load-delay 0")
		f.until(func() bool { return !strings.HasPrefix(replica.do(t, "GET first"), "-LOADING") })
		f.requireSame(replica, master)
	})
}

// TestNewReplicaEndsWaits: who waits for a key or for replicas when a server becomes a replica is told so.
func TestNewReplicaEndsWaits(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(ours), f.node(k)
		lines := []string{"BLPOP l 0", "BRPOPLPUSH l m 0", "WAIT 1 0"}
		waiting := make([]*wire, len(lines))
		for i, line := range lines {
			waiting[i] = replica.dial(t)
			require.NoError(t, waiting[i].send(wordsOf(t, line)))
		}
		f.until(func() bool {
			fields, _ := replica.info(t, "clients")
			return fields["blocked_clients"] == fmt.Sprint(len(lines))
		})
		f.follow(replica, master)
		for i, line := range lines {
			require.Equal(t, "-UNBLOCKED force unblock from blocking operation, instance state changed "+
				"(master -> replica?)", f.await(waiting[i]), line)
			_, err := waiting[i].readReply()
			require.Error(t, err, "the connection is closed")
		}
		master.fill(t, "RPUSH l x y")
		f.requireSame(replica, master)
	})
}

// TestStoppedLinkBeginsAnew: REPLICAOF of the same master ends the stop.
func TestStoppedLinkBeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(redis), f.node(ours)
	f.follow(replica, master)
	require.NotRegexp(t, "^-", master.do(t, "XADD s * a b"))
	f.until(func() bool {
		return strings.Contains(replica.field(t, "master_link_error"), "cannot be followed")
	})
	master.fill(t, "DEL s", "SET k v")
	f.follow(replica, master)
	f.requireSame(replica, master)
	host, port := master.hostPort()
	require.Equal(t, "+OK Already connected to specified master", replica.call(t, "REPLICAOF", host, port))
}

// TestPublishWithinTransaction: replicas get a message where it was published, and a log never does.
func TestPublishWithinTransaction(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master := f.node(k)
		c := f.rawReplica(master)
		master.fill(t, "PUBLISH news w",
			"MULTI", "SET a 1", "PUBLISH news x", "SET b 2", "EXEC", "PUBLISH news y",
			`EVAL "redis.call('SET', KEYS[1], 1) redis.call('PUBLISH', 'news', 'z')" 1 k`,
			"SELECT 3", "PUBLISH news v", "SET end 1")
		require.Equal(t, []string{
			"SELECT 0", "PUBLISH news w",
			"MULTI", "SET a 1", "PUBLISH news x", "SET b 2", "EXEC", "PUBLISH news y",
			"MULTI", "SET k 1", "PUBLISH news z", "EXEC",
			"SELECT 3", "PUBLISH news v", "SET end 1",
		}, c.commandsUntil("SET end 1"))
	})
}

// TestMasterCommandsAreCounted: what a master sends is in the statistics of the replica.
func TestMasterCommandsAreCounted(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours)
	f.follow(replica, master)
	for range 50 {
		master.fill(t, "SET k v")
	}
	f.requireSame(replica, master)
	f.until(func() bool {
		fields, _ := replica.info(t, "commandstats")
		return strings.HasPrefix(fields["cmdstat_set"], "calls=50,")
	})
}

// TestRoleChangesWithinTransaction: what a transaction wrote before REPLICAOF is in the history that ends
// there, so the server does not go on in a history without it.
func TestRoleChangesWithinTransaction(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	a, b := f.node(ours), f.node(ours)
	f.follow(b, a)
	a.fill(t, "SET k v")
	f.requireSame(b, a)
	require.Equal(t, "+OK", b.do(t, "REPLICAOF NO ONE")) // b knows the history of a, up to here
	host, port := b.hostPort()
	a.fill(t, "MULTI", "SET mine v", "REPLICAOF "+host+" "+port, "EXEC")
	f.caughtUp(a, b)
	f.requireSame(a, b)
	require.Equal(t, "$-1", a.do(t, "GET mine"))
}

// TestCopyWithBadLibrary: a copy with a function library that cannot be loaded changes nothing, and says why.
func TestCopyWithBadLibrary(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	a, replica := f.node(ours), f.node(ours)
	a.fill(t, "SET k v")
	f.follow(replica, a)
	b := f.node(ours)
	require.Equal(t, "$1\r\nx", b.call(t, "FUNCTION", "LOAD", "#!lua name=x\nlocal s = 'x'\n"+
		"for i = 1, 21 do s = s .. s end\nredis.register_function('f', function() return #s end)"))
	replica.fill(t, "CONFIG SET lua-memory-limit 1mb")
	host, port := b.hostPort()
	require.Equal(t, "+OK", replica.call(t, "REPLICAOF", host, port))
	f.until(func() bool {
		return strings.Contains(replica.field(t, "master_link_error"), "a function library")
	})
	require.Equal(t, "$1\r\nv", replica.do(t, "GET k"))
	require.Contains(t, replica.do(t, "ROLE"), "stopped")
	f.follow(replica, a)
	f.requireSame(replica, a)
	full, partial := a.counts(t)
	require.Equal(t, "1 1", full+" "+partial, "what it has is still in the history of its first master")
}

// A rawReplica is a connection that a stream comes in by.
type rawReplica struct {
	t    *testing.T
	in   *bufio.Reader
	conn net.Conn
}

// rawReplica attaches one, which reads the copy and confirms nothing.
func (f *fabric) rawReplica(master *node) *rawReplica {
	f.t.Helper()
	conn, err := net.Dial("tcp", master.addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { conn.Close() })
	_, err = conn.Write([]byte("SYNC\r\n"))
	require.NoError(f.t, err)
	f.until(func() bool { return strings.Contains(master.field(f.t, "slave0"), "state=") })
	r := &rawReplica{f.t, bufio.NewReader(conn), conn}
	head := make(chan string, 1)
	go func() {
		line := ""
		for line == "" { // empty lines keep the connection alive
			b, err := r.in.ReadString('\n')
			if line = strings.TrimSpace(b); err != nil {
				line = err.Error()
			}
		}
		head <- line
	}()
	var line string
	f.until(func() bool {
		select {
		case line = <-head:
			return true
		default:
			runtime.Gosched()
			return false
		}
	}, "no copy")
	size, err := strconv.ParseInt(strings.TrimPrefix(line, "$"), 10, 64)
	require.NoError(f.t, err)
	_, err = io.CopyN(io.Discard, r.in, size)
	require.NoError(f.t, err)
	return r
}

// commandsUntil returns the commands of the stream up to one, without PING.
func (r *rawReplica) commandsUntil(last string) (out []string) {
	r.t.Helper()
	number := func(mark byte) int {
		line, err := r.in.ReadString('\n')
		require.NoError(r.t, err)
		require.Equal(r.t, mark, line[0])
		n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		require.NoError(r.t, err)
		return n
	}
	for len(out) == 0 || out[len(out)-1] != last {
		words := make([]string, number('*'))
		for i := range words {
			b := make([]byte, number('$')+2)
			_, err := io.ReadFull(r.in, b)
			require.NoError(r.t, err)
			words[i] = string(b[:len(b)-2])
		}
		if strings.ToUpper(words[0]) != "PING" {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// TestSaveWhileCopyIsSent: a save waits for a copy that a replica takes its time to read, and does not fail.
func TestSaveWhileCopyIsSent(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master := f.nodeOn(ours, disk.OS(t.TempDir()), "--save", "3600 1")
	master.fill(t, "DEBUG POPULATE 200000 k 200")
	c, err := net.Dial("tcp", master.addr)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("REPLCONF capa eof\r\nSYNC\r\n"))
	require.NoError(t, err)
	f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=send_bulk") })
	persistence, _ := master.info(t, "persistence")
	require.Equal(t, "0", persistence["rdb_bgsave_in_progress"], "as docs/info.md says")
	require.Equal(t, "+Background saving started", master.do(t, "BGSAVE"))
	w := master.dial(t)
	require.NoError(t, w.send(wordsOf(t, "SAVE")))
	f.until(func() bool {
		fields, _ := master.info(t, "persistence")
		return fields["rdb_bgsave_in_progress"] == "1"
	})
	master.fill(t, "SET a b")
	require.NoError(t, c.Close())
	f.until(func() bool {
		fields, _ := master.info(t, "persistence")
		return fields["rdb_bgsave_in_progress"] == "0" && fields["rdb_last_bgsave_status"] == "ok"
	})
	master.fill(t, "SET a b")
}

// TestCopyWaitsForSave: a replica that asks while the master saves waits, and is not sent away.
func TestCopyWaitsForSave(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master := f.nodeOn(ours, disk.OS(t.TempDir()), "--rdb-key-save-delay", "100000")
	replica := f.node(ours)
	for i := range 200 {
		master.fill(t, fmt.Sprint("SET k", i, " v"))
	}
	require.Equal(t, "+Background saving started", master.do(t, "BGSAVE"))
	host, port := master.hostPort()
	replica.call(t, "REPLICAOF", host, port)
	f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=wait_bgsave") })
	for range 200 {
		f.tick()
	}
	require.Contains(t, master.field(t, "slave0"), "state=wait_bgsave")
	master.fill(t, "CONFIG SET rdb-key-save-delay 0")
	f.caughtUp(replica, master)
	f.requireSame(replica, master)
	full, _ := master.counts(t)
	require.Equal(t, "1", full)
}

// TestClientTypeMaster: the master is a client of its replica, as long as the link is up.
func TestClientTypeMaster(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(ours), f.node(k)
		require.Equal(t, "$0\r\n", replica.do(t, "CLIENT LIST TYPE master"))
		f.follow(replica, master)
		_, port := master.hostPort()
		var line string
		f.until(func() bool { // a ping may follow what is written
			master.fill(t, "SELECT 3", "SET k v")
			f.caughtUp(replica, master)
			line = replica.do(t, "CLIENT LIST TYPE master")
			return !strings.Contains(line, " cmd=ping ")
		})
		require.Contains(t, line, " addr=127.0.0.1:"+port+" ")
		require.Regexp(t, `^\S+\s+id=\d+ .* flags=M db=3 .* cmd=set user=\(superuser\)`, line)
		require.NotContains(t, replica.do(t, "CLIENT LIST TYPE normal"), "flags=M")
		fields, _ := replica.info(t, "clients")
		require.Equal(t, "2", fields["connected_clients"])
		for i, filter := range []string{"TYPE master", "ADDR 127.0.0.1:" + port} {
			require.Equal(t, ":1", replica.do(t, "CLIENT KILL "+filter))
			f.until(func() bool { // the link is seen to be up until its end is noticed
				_, partial := master.counts(t)
				return partial == strconv.Itoa(i+1) && replica.field(t, "master_link_status") == "up"
			})
			master.fill(t, "SET after "+strconv.Quote(filter))
			f.requireSame(replica, master)
		}
		full, partial := master.counts(t)
		require.Equal(t, []string{"1", "2"}, []string{full, partial})
		replica.fill(t, "REPLICAOF NO ONE")
		f.until(func() bool { return replica.do(t, "CLIENT LIST TYPE master") == "$0\r\n" })
	})
}

// TestReplicasAreNoClients: connected_clients is without replicas, but with a master.
func TestReplicasAreNoClients(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(k)
		f.follow(replica, master)
		for n, want := range map[*node]string{master: "1", replica: "2"} {
			fields, _ := n.info(t, "clients")
			require.Equal(t, want, fields["connected_clients"])
		}
	})
}

// TestExpiredKeysOfSnapshot: a master that continues its history counts the keys of its snapshot that have
// expired, and a replica keeps them.
func TestExpiredKeysOfSnapshot(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		dir := t.TempDir()
		master, replica := f.nodeOn(k, disk.OS(dir), "--dir", dir), f.node(k)
		f.follow(replica, master)
		f.until(func() bool { // in Redis the copy is a save until its process has been waited for
			fields, _ := master.info(t, "persistence")
			return fields["rdb_bgsave_in_progress"] == "0"
		})
		master.fill(t, "SET stays v", "SET goes v PX 1", "SAVE")
		for _, c := range []struct{ directive, expired, loaded string }{
			{"127.0.0.1 1", "0", "2"}, {"no one", "1", "1"},
		} {
			again := f.nodeOn(k, disk.OS(dir), "--dir", dir, "--replicaof", c.directive)
			fields, _ := again.info(t, "persistence")
			require.Equal(t, c.expired, fields["rdb_last_load_keys_expired"], c.directive)
			require.Equal(t, c.loaded, fields["rdb_last_load_keys_loaded"], c.directive)
			require.Equal(t, master.field(t, "master_replid"), again.field(t, "master_replid"+
				map[string]string{"no one": "2"}[c.directive]))
			f.until(func() bool { return again.call(t, "EXISTS", "goes") == ":0" })
			again.end()
			f.nodes = f.nodes[:len(f.nodes)-1]
		}
	})
}

// TestPauseHoldsTheMaster: CLIENT PAUSE WRITE on a replica holds the first write of its master and all that
// follows. The link stays, and what is held is in no history until it has run.
func TestPauseHoldsTheMaster(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		f.follow(replica, master)
		hold := func(line string) {
			t.Helper()
			replica.fill(t, "CLIENT PAUSE 1000000 WRITE")
			master.fill(t, line, "MULTI", "INCR n", "INCR n", "EXEC")
			f.until(func() bool {
				fields, _ := replica.info(t, "replication")
				read, _ := strconv.ParseInt(fields["slave_read_repl_offset"], 10, 64)
				at, _ := strconv.ParseInt(fields["slave_repl_offset"], 10, 64)
				return read > at
			}, "nothing is held")
		}
		hold("SET k held")
		require.Equal(t, "$-1", replica.do(t, "GET k"))
		require.Regexp(t, ` flags=Mb `, replica.do(t, "CLIENT LIST TYPE master"))
		clients, _ := replica.info(t, "clients")
		require.Equal(t, "1", clients["blocked_clients"])
		require.Equal(t, ":0", f.wait(master.wire, "1", "1"), "it is not confirmed")
		replica.jumpOurs(t, 61*time.Second) // past repl-timeout
		for range 20 {
			f.tick()
		}
		require.Equal(t, "up", replica.field(t, "master_link_status"))

		if replica.kind == ours { // a redis-server asks for a copy then, and loads it
			require.Equal(t, ":1", replica.do(t, "CLIENT KILL TYPE master"))
			f.until(func() bool { // it continues at what has run
				_, partial := master.counts(t)
				return partial == "1" && replica.field(t, "master_link_status") == "up"
			})
			require.Equal(t, "$-1", replica.do(t, "GET k"))
		}
		replica.fill(t, "CLIENT UNPAUSE")
		f.requireSame(replica, master)
		require.Equal(t, "$1\r\n2", replica.do(t, "GET n"))

		hold("SET dropped v")
		replica.fill(t, "REPLICAOF NO ONE", "CLIENT UNPAUSE", "SET own v")
		require.Equal(t, "*3", replica.do(t, "KEYS *")[:2], "k, n and own")
		clients, _ = replica.info(t, "clients")
		require.Equal(t, "0", clients["blocked_clients"])
		full, _ := master.counts(t)
		require.Equal(t, "1", full)

		f.follow(replica, master)
		hold("SET k last") // the server ends all the same
	})
}
