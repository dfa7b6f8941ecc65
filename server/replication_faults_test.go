package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// untilStopped waits until a replica has stopped, and returns why.
func (f *fabric) untilStopped(replica *node) (why string) {
	f.t.Helper()
	f.until(func() bool {
		why = replica.field(f.t, "master_link_error")
		return strings.Contains(why, "cannot be followed")
	}, "the replica does not stop")
	require.Equal(f.t, "down", replica.field(f.t, "master_link_status"))
	return why
}

// TestForeignTypes: a copy with a type that is not held is refused by name, and the replica keeps its keys.
// Under load-skip-unsupported such keys are skipped.
func TestForeignTypes(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(redis), f.node(ours)
	master.fill(t, "SET k v", "XADD events * a 1")
	replica.fill(t, "SET own v")
	host, port := master.hostPort()
	require.Equal(t, "+OK", replica.call(t, "REPLICAOF", host, port))
	why := f.untilStopped(replica)
	require.Contains(t, why, "events")
	require.Contains(t, why, "stream")
	require.Equal(t, "$1\r\nv", replica.do(t, "GET own"))
	require.Equal(t, ":1", replica.do(t, "DBSIZE"))
	require.Equal(t, "+OK", replica.do(t, "CONFIG SET load-skip-unsupported yes"))
	require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
	require.Equal(t, "$1\r\nv", replica.do(t, "GET own"))
	f.follow(replica, master)
	require.Equal(t, "$1\r\nv", replica.do(t, "GET k"))
	require.Equal(t, ":1", replica.do(t, "DBSIZE"))
	persistence, _ := replica.info(t, "persistence")
	require.Equal(t, "1", persistence["rdb_last_load_keys_skipped"])

	// Commands are skipped and counted, too.
	master.fill(t, "XADD events * a 2", "MULTI", "SET k w", "XADD events * a 3", "SET after v", "EXEC")
	f.caughtUp(replica, master)
	require.Equal(t, "*2\r\n$1\r\nw\r\n$1\r\nv", replica.do(t, "MGET k after"))
	stats, _ := replica.info(t, "stats")
	require.Equal(t, "2", stats["unexpected_error_replies"])

	require.Equal(t, "+OK", replica.do(t, "CONFIG SET load-skip-unsupported no"))
	master.fill(t, "SET before v", "XADD events * a 4", "SET behind v")
	require.Contains(t, strings.ToLower(f.untilStopped(replica)), "xadd")
	require.Equal(t, "*2\r\n$1\r\nv\r\n$-1", replica.do(t, "MGET before behind"))
	for range 100 {
		f.tick()
	}
	require.Equal(t, "$-1", replica.do(t, "GET behind"), "it stays stopped")

	// Of a transaction with such a command nothing is carried out.
	require.Equal(t, "+OK", replica.do(t, "CONFIG SET load-skip-unsupported yes"))
	require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
	f.follow(replica, master)
	require.Equal(t, "+OK", replica.do(t, "CONFIG SET load-skip-unsupported no"))
	master.fill(t, "MULTI", "SET k x", "XGROUP CREATE events readers 0", "SET after x", "EXEC")
	require.Contains(t, strings.ToLower(f.untilStopped(replica)), "xgroup")
	require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
	require.Equal(t, "*3\r\n$1\r\nw\r\n$1\r\nv\r\n$1\r\nv", replica.do(t, "MGET k after behind"))
}

// TestMasterAuth: the reason why a master refuses a replica is in INFO, and the replica follows once it has
// the right password.
func TestMasterAuth(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		f.nodes = nil
		master := f.nodeOn(k, nil)
		replica := f.node(ours)
		require.Equal(t, "+OK", master.do(t, "CONFIG SET requirepass secret"))
		require.Equal(t, "+OK", master.do(t, "AUTH secret"))
		master.fill(t, "SET k v", "ACL SETUSER repl on >pass ~* &* -@all +psync +replconf +ping")
		host, port := master.hostPort()
		require.Equal(t, "+OK", replica.call(t, "REPLICAOF", host, port))
		refused := func(code string) {
			t.Helper()
			f.until(func() bool {
				replica.jump(t, 100*time.Millisecond)
				return strings.Contains(replica.field(t, "master_link_error"), code)
			}, code)
		}
		refused("NOAUTH")
		replica.fill(t, "CONFIG SET masterauth wrong")
		refused("WRONGPASS")
		replica.fill(t, "CONFIG SET masteruser repl masterauth pass")
		f.caughtUp(replica, master)
		require.Equal(t, "$1\r\nv", replica.do(t, "GET k"))
		_, fields := replica.info(t, "replication")
		require.NotContains(t, fields, "master_link_error")
	})
}

// TestDiskFullDuringSync: the replica keeps its keys, says why, and follows once there is room.
func TestDiskFullDuringSync(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	d := crashdisk.New(1)
	master, replica := f.node(ours), f.nodeOn(ours, d.FS())
	master.fill(t, "SET k "+strings.Repeat("incompressible0123456789", 10)+strings.Repeat("x", 1))
	for i := range 200 {
		master.fill(t, "SET key:"+strings.Repeat("k", i)+" v")
	}
	replica.fill(t, "SET own v")
	d.SetCapacity(d.Used() + 1000)
	host, port := master.hostPort()
	require.Equal(t, "+OK", replica.call(t, "REPLICAOF", host, port))
	f.until(func() bool {
		return strings.Contains(replica.field(t, "master_link_error"), "no space left")
	}, "no error")
	require.Equal(t, "$1\r\nv", replica.do(t, "GET own"))
	require.Equal(t, ":1", replica.do(t, "DBSIZE"))
	require.Empty(t, spools(d.Names()))
	d.SetCapacity(1 << 30)
	replica.jump(t, 2*time.Second)
	f.requireSame(replica, master)
	require.Empty(t, spools(d.Names()))
}

// spools returns the names of files for copies that arrive.
func spools(names []string) (out []string) {
	for _, name := range names {
		if strings.Contains(name, "temp-sync") {
			out = append(out, name)
		}
	}
	return out
}

// TestReplicaWithLog: a copy of the master's keys begins the append-only log anew, and a restart has what the
// replica had, with what the stream has brought.
func TestReplicaWithLog(t *testing.T) {
	t.Parallel()
	for _, preamble := range []string{"yes", "no"} {
		for _, k := range []kind{ours, redis} {
			t.Run(string(k)+" "+preamble, func(t *testing.T) {
				t.Parallel()
				f := newFabric(t)
				d := crashdisk.New(1)
				logged := []string{"--appendonly", "yes", "--aof-use-rdb-preamble", preamble}
				master, replica := f.node(k), f.nodeOn(ours, d.FS(), logged...)
				replica.fill(t, "SET own v", "SET k other")
				master.fill(t, pairingKeys("copy:")...)
				f.follow(replica, master)
				master.fill(t, pairingKeys("stream:")...)
				for _, line := range pairingEffects {
					master.do(t, line)
				}
				f.requireSame(replica, master)
				want := replica.do(t, "DEBUG DIGEST")
				replica.end() // which completes the log
				f.nodes = []*node{master}
				again := f.nodeOn(ours, d.FS(), logged...)
				require.Equal(t, master.deadlines(t), again.deadlines(t))
				require.Equal(t, want, again.do(t, "DEBUG DIGEST"))
				require.Equal(t, "$-1", again.do(t, "GET own"))
				requireSameFunctions(t, master, again)
			})
		}
	}
}
