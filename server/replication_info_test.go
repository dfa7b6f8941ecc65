package server_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReplicationInfoFields: names and order of INFO replication and the form of ROLE are redis-server's, on
// a master with replicas, a replica that is online, one that cannot connect and one that has been promoted.
func TestReplicationInfoFields(t *testing.T) {
	t.Parallel()
	type state struct {
		fields []string
		role   string
	}
	states := func(t *testing.T, k kind) (out map[string]state) {
		f := newFabric(t)
		master, replica := f.node(k), f.node(k, "--replica-announce-ip", "localhost", "--replica-priority",
			"7")
		out = map[string]state{}
		note := func(name string, n *node) {
			_, fields := n.info(t, "replication")
			fields = without(without(fields, "master_link_error"), "sentinels_connected") // ours alone
			role := n.do(t, "ROLE")
			for _, m := range f.nodes {
				_, port := m.hostPort()
				role = strings.ReplaceAll(role, port, "PORT")
			}
			out[name] = state{fields, counted.ReplaceAllString(role, "N")}
		}
		note("alone", master)
		f.follow(replica, master)
		f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
		note("master", master)
		note("replica", replica)
		slave := master.field(t, "slave0")
		_, port := replica.hostPort()
		require.Regexp(t, "^ip=localhost,port="+port+`,state=online,offset=\d+,lag=\d$`, slave)
		require.Equal(t, "7", replica.field(t, "slave_priority"))
		require.Equal(t, "+OK", replica.do(t, "REPLICAOF 127.0.0.1 1"))
		f.until(func() bool { return replica.field(t, "master_link_status") == "down" })
		f.until(func() bool { return strings.Contains(replica.do(t, "ROLE"), "connect\r\n") })
		note("cut off", replica)
		require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
		note("promoted", replica)
		require.Equal(t, master.field(t, "master_replid"), replica.field(t, "master_replid2"))
		require.NotEqual(t, "-1", replica.field(t, "second_repl_offset"))
		return out
	}
	got := states(t, ours)
	require.Contains(t, got["replica"].fields, "slave_repl_offset")
	require.Equal(t, states(t, redis), got)
}

func without(names []string, name string) (out []string) {
	for _, n := range names {
		if n != name {
			out = append(out, n)
		}
	}
	return out
}

// TestMinReplicasToWrite: too few replicas refuse writes, and a replica that is silent does not count.
func TestMinReplicasToWrite(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"),
			f.node(k)
		const refused = "-NOREPLICAS Not enough good replicas to write."
		refusals := func() {
			t.Helper()
			for _, line := range []string{
				"SET k v", "DEL k", `EVAL "#!lua\nreturn 1" 0`, "FLUSHALL", "GETEX k",
			} {
				require.Equal(t, refused, master.do(t, line), line)
			}
			require.Contains(t, master.do(t, `EVAL "return redis.call('set', KEYS[1], 1)" 1 k`), refused)
			require.Equal(t, "+OK", master.do(t, "MULTI"))
			require.Equal(t, refused, master.do(t, "SET k v"))
			require.Equal(t, "-EXECABORT Transaction discarded because of previous errors.", master.do(t,
				"EXEC"))
			require.Equal(t, "+OK", master.do(t, "MULTI"))
			require.Equal(t, "+QUEUED", master.do(t, `EVAL "return redis.call('set', KEYS[1], 1)" 1 k`))
			require.Contains(t, master.do(t, "EXEC"), refused)
			require.Equal(t, "$-1", master.do(t, "GET k"))
			require.Equal(t, ":1", master.do(t, `EVAL "return 1" 0`))
			require.Equal(t, "0", master.field(t, "min_slaves_good_slaves"))
			if k == ours {
				require.Equal(t, refused, master.do(t, "RL.ALLOW u 5 1s"))
			}
		}
		refusals()
		f.follow(replica, master)
		f.until(func() bool { return master.field(t, "min_slaves_good_slaves") == "1" })
		require.Equal(t, "+OK", master.do(t, "SET k v"))
		require.Equal(t, ":1", master.do(t, "DEL k"))
		if k == ours { // nobody ticks the replica: it confirms nothing
			master.jump(t, 11*time.Second)
			refusals()
			replica.jump(t, time.Second)
			f.until(func() bool { return master.field(t, "min_slaves_good_slaves") == "1" })
		}
		require.Equal(t, "+OK", master.do(t, "CONFIG SET min-replicas-max-lag 0"))
		require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
		f.until(func() bool { return master.field(t, "connected_slaves") == "0" })
		require.Equal(t, "+OK", master.do(t, "SET k v"))
	})
}

// TestWaitForReplicas: WAIT returns how many have confirmed what the connection has written.
func TestWaitForReplicas(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		require.Equal(t, ":0", master.do(t, "WAIT 1 1"))
		require.Equal(t, ":0", master.do(t, "WAIT 0 0"))
		f.follow(replica, master)
		for i := range 20 {
			master.fill(t, "SET k "+strconv.Itoa(i))
			require.Equal(t, ":1", f.wait(master.wire, "1", "0"))
			require.Equal(t, "$"+strconv.Itoa(len(strconv.Itoa(i)))+"\r\n"+strconv.Itoa(i), replica.do(t,
				"GET k"))
		}
		require.Equal(t, ":1", master.do(t, "WAIT 2 1"), "the time is up")
		master.fill(t, "MULTI", "SET k tx", "WAIT 9 0")
		require.Regexp(t, `^\*2\r\n\+OK\r\n:[01]$`, master.do(t, "EXEC"), "EXEC does not block")
		other := master.dial(t)
		require.Equal(t, ":1", f.wait(other, "1", "0"), "it has written nothing")

		// A wait ends when the replica that it waits for comes.
		second := f.node(replica.kind)
		require.NoError(t, other.sendRaw([]byte("SET k last\r\nWAIT 2 0\r\n")))
		require.Equal(t, "+OK", other.reply(t))
		f.follow(second, master)
		require.Equal(t, ":2", f.await(other))
	})
}

// TestResetStatOfReplication: CONFIG RESETSTAT begins the counts of copies and continuations anew.
func TestResetStatOfReplication(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(k)
		f.follow(replica, master)
		unknown := master.dial(t)
		require.Equal(t, "+OK", doLine(t, unknown, "REPLCONF capa psync2"))
		require.NoError(t, unknown.sendRaw([]byte("PSYNC "+strings.Repeat("0", 40)+" 1\r\n")))
		require.Contains(t, f.await(unknown), "+FULLRESYNC")
		counts := func() string {
			stats, _ := master.info(t, "stats")
			return stats["sync_full"] + " " + stats["sync_partial_ok"] + " " + stats["sync_partial_err"]
		}
		require.Regexp(t, "^2 0 [12]$", counts()) // a redis-server's replica asks to go on with its own keys
		require.Equal(t, "+OK", master.do(t, "CONFIG RESETSTAT"))
		require.Equal(t, "0 0 0", counts())
	})
}
