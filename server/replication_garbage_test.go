package server_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMasterThatSpeaksGarbage: whatever a master says instead of a copy, its replica answers clients, says
// why it does not follow, and has the keys that it had.
func TestMasterThatSpeaksGarbage(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a", 40)
	for name, c := range map[string]struct{ command, reply string }{
		"to PING":           {"ping", "\x00\xff\x17garbage\r\n"},
		"HTTP":              {"ping", "HTTP/1.1 400 Bad Request\r\n\r\n"},
		"an array":          {"ping", "*1\r\n$4\r\nPONG\r\n"},
		"no end of a line":  {"ping", strings.Repeat("x", 1<<20)},
		"to PSYNC":          {"psync", "\x00\xff\x17garbage\r\n"},
		"39 bytes":          {"psync", "+FULLRESYNC " + id[1:] + " 0\r\n"},
		"41 bytes":          {"psync", "+FULLRESYNC " + id + "a 0\r\n"},
		"no offset":         {"psync", "+FULLRESYNC " + id + "\r\n"},
		"a negative offset": {"psync", "+FULLRESYNC " + id + " -7\r\n"},
		"unasked CONTINUE":  {"psync", "+CONTINUE\r\n"},
		"no dump":           {"psync", "+FULLRESYNC " + id + " 0\r\n\x00\xff\x17garbage\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			replica := f.node(ours)
			replica.fill(t, pairingKeys("own:")...)
			want := replica.do(t, "DEBUG DIGEST")
			newMasterSaying(t, func(command string) (string, bool) {
				if command == c.command {
					return c.reply, false
				}
				return "+OK\r\n", false
			}).follow(t, replica)
			f.until(func() bool { return replica.field(t, "master_link_error") != "" }, "no error")
			require.Equal(t, "down", replica.field(t, "master_link_status"))
			require.Equal(t, "+PONG", replica.do(t, "PING"))
			require.Equal(t, want, replica.do(t, "DEBUG DIGEST"))
			require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			require.Equal(t, "+OK", replica.do(t, "SET own:new v"), "it is a master again")
		})
	}
}

// TestGarbageInTheStream: a stream that stops being one costs the link, not the copy that came before it, and
// a command that is not held stops the replica for good.
func TestGarbageInTheStream(t *testing.T) {
	t.Parallel()
	head, dump := aDump(t)
	mark := "x" + strings.Repeat("m", 39) // it cannot begin within the copy
	for name, c := range map[string]struct{ stream, why string }{
		"bytes":           {"\x00\xff\x17garbage\r\n", "protocol error"},
		"an error":        {"-ERR no\r\n", "protocol error"},
		"too many words":  {"*99999999\r\n", "protocol error"},
		"a negative word": {"*1\r\n$-5\r\n", "protocol error"},
		"no such command": {"*1\r\n$6\r\nNOSUCH\r\n", "cannot be followed"},
		"a foreign type": {
			"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\n1\r\n", "cannot be followed",
		},
		"no argument":      {"*1\r\n$3\r\nSET\r\n", "cannot be followed"},
		"a wrong database": {"*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n", "cannot be followed"},
		"half":             {"*3\r\n$3\r\nSET\r\n$7\r\nnew:int\r\n$1\r\n", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			replica := f.node(ours)
			replica.fill(t, "SET own v")
			before := "*3\r\n$3\r\nSET\r\n$6\r\nbefore\r\n$1\r\nv\r\n"
			asked := 0
			newMasterSaying(t, func(command string) (string, bool) {
				if command != "psync" {
					return "+OK\r\n", false
				}
				if asked++; asked > 1 {
					return "", false
				}
				send := "$EOF:" + mark + "\r\n" + dump + mark + before + c.stream
				return head + send, name == "half"
			}).follow(t, replica)
			var why string
			f.until(func() bool {
				why = replica.field(t, "master_link_error")
				return why != ""
			}, "no error")
			require.Contains(t, why, c.why)
			require.Equal(t, "down", replica.field(t, "master_link_status"))
			require.Equal(t, "*3\r\n$2\r\n42\r\n$1\r\nv\r\n$-1", replica.do(t, "MGET new:int before own"))
		})
	}
}

// TestPlacesThatCannotBeContinued: a master continues exactly what its backlog has, as redis-server does.
func TestPlacesThatCannotBeContinued(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(k)
		f.follow(replica, master)
		master.fill(t, "SET k v")
		f.caughtUp(replica, master)
		id, at := master.field(t, "master_replid"), master.offset(t)
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{id, "1"}, "+CONTINUE"},
			{[]string{strings.ToUpper(id), "1"}, "+CONTINUE"},
			{[]string{id, strconv.FormatInt(at+1, 10)}, "+CONTINUE"},
			{[]string{id, strconv.FormatInt(at+1000, 10)}, "+FULLRESYNC"},
			{[]string{id, "9223372036854775807"}, "+FULLRESYNC"},
			{[]string{id, "0"}, "+FULLRESYNC"},
			{[]string{id, "-9223372036854775808"}, "+FULLRESYNC"},
			{[]string{id[1:], "1"}, "+FULLRESYNC"},
			{[]string{id + "a", "1"}, "+FULLRESYNC"},
			{[]string{"", "1"}, "+FULLRESYNC"},
			{[]string{"?", strconv.FormatInt(at+1, 10)}, "+FULLRESYNC"},
			{[]string{id, "x"}, "-ERR value is not an integer or out of range"},
			{[]string{id, "9223372036854775808"}, "-ERR value is not an integer or out of range"},
			{[]string{id}, "-ERR wrong number of arguments for 'psync' command"},
		} {
			w := master.dial(t)
			require.Equal(t, "+OK", doLine(t, w, "REPLCONF capa eof capa psync2"))
			words := [][]byte{[]byte("PSYNC")}
			for _, a := range c.args {
				words = append(words, []byte(a))
			}
			require.NoError(t, w.send(words))
			require.Contains(t, f.await(w), c.want, c.args)
			require.NoError(t, w.conn.Close())
		}
		f.requireSame(replica, master)
	})
}

// TestDebugClockOnReplica: a replica's time is its master's, so it cannot be moved until it is promoted.
func TestDebugClockOnReplica(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours)
	f.follow(replica, master)
	for _, line := range []string{"FREEZE", "SET 2100000000000", "ADVANCE 1000", "RESUME"} {
		require.Equal(t, "-ERR DEBUG CLOCK is not allowed on a replica: its time is the master's",
			replica.do(t, "DEBUG CLOCK "+line))
	}
	require.NotContains(t, replica.do(t, "TIME"), "2100000000")
	require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
	replica.fill(t, "DEBUG CLOCK FREEZE", "DEBUG CLOCK ADVANCE 1000")
}

// TestExpiredKeyOnReplica: what a replica says of a key that has expired and that its master has not removed.
func TestExpiredKeyOnReplica(t *testing.T) {
	t.Parallel()
	said := map[kind][]string{}
	for _, k := range []kind{redis, ours} {
		f := newFabric(t)
		f.held = true
		master, replica := f.node(ours), f.node(k)
		master.fill(t, "SET k value PX 1000", "SET stays v")
		f.follow(replica, master)
		replica.jump(t, 2*time.Second)
		for _, line := range []string{
			"MEMORY USAGE k", "OBJECT IDLETIME k", "OBJECT ENCODING k", "OBJECT REFCOUNT k", "DUMP k",
			"GET k", "EXISTS k", "TYPE k", "PTTL k", "PEXPIRETIME k", "STRLEN k", "DBSIZE", "KEYS *",
			"RANDOMKEY", "TOUCH k", "SCAN 0 COUNT 100", "SORT_RO k", "DEL k", "COPY k l", "GETRANGE k 0 -1",
			"DEBUG DIGEST-VALUE k",
		} {
			reply := replica.do(t, line)
			if strings.HasPrefix(line, "MEMORY") && strings.HasPrefix(reply, ":") {
				reply = "bytes"
			}
			said[k] = append(said[k], line+" "+reply)
		}
	}
	require.Equal(t, said[redis], said[ours])
}

// TestIdleTimesAcrossReplication: after a copy no key has been idle, and a change by the master is a use, as
// between redis-servers without a policy of eviction. Under an LRU policy Redis' copies have idle times; ours
// have none.
func TestIdleTimesAcrossReplication(t *testing.T) {
	t.Parallel()
	for _, m := range []kind{redis, ours} {
		for _, r := range []kind{redis, ours} {
			f := newFabric(t)
			f.held = true
			master, replica := f.node(m), f.node(r)
			idle := func(n *node, key string) int {
				seconds, err := strconv.Atoi(strings.TrimPrefix(n.do(t, "OBJECT IDLETIME "+key), ":"))
				require.NoError(t, err)
				return seconds
			}
			master.fill(t, "SET k v", "SET changed v")
			replica.fill(t, "SET k v")
			master.jump(t, 1000*time.Second)
			replica.jump(t, 1000*time.Second)
			// redis-server reads the clock for idle times now and then: a copy before that would seem old.
			f.until(func() bool { return idle(master, "k") >= 1000 && idle(replica, "k") >= 1000 })
			f.follow(replica, master)
			require.Less(t, idle(replica, "k"), 100, "%s of %s", r, m)
			replica.jump(t, 500*time.Second)
			f.until(func() bool { return idle(replica, "changed") >= 500 })
			master.fill(t, "APPEND changed w")
			f.caughtUp(replica, master)
			require.Less(t, idle(replica, "changed"), 100, "%s of %s", r, m)
		}
	}
}
