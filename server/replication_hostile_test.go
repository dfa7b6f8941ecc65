package server_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/scenario"
)

// A brokenMaster answers a replica what a test wants.
type brokenMaster struct {
	l     net.Listener
	asked atomic.Int64 // PSYNCs
}

// fromZero begins a full synchronization.
var fromZero = "+FULLRESYNC " + strings.Repeat("a", 40) + " 0\r\n"

// newBrokenMaster sends to PSYNC what it is given, and hangs up if hangUp.
func newBrokenMaster(t *testing.T, send string, hangUp bool) *brokenMaster {
	return newMasterSaying(t, func(command string) (string, bool) {
		if command == "psync" {
			return send, hangUp
		}
		return "+OK\r\n", false
	})
}

// newMasterSaying replies to each command, named in lower case, what answer returns.
func newMasterSaying(t *testing.T, answer func(command string) (reply string, hangUp bool)) *brokenMaster {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	m := &brokenMaster{l: l}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { nc.Close() })
			go m.serve(newWire(nc), answer)
		}
	}()
	return m
}

func (m *brokenMaster) serve(w *wire, answer func(command string) (string, bool)) {
	for {
		command, err := scenario.ReadReply(w.r, nil)
		if err != nil {
			return
		}
		words := strings.Split(strings.ToLower(string(command)), "\r\n")
		if slices.Contains(words, "ack") {
			continue // nobody answers it
		}
		name := words[min(2, len(words)-1)]
		if name == "psync" {
			m.asked.Add(1)
		}
		reply, hangUp := answer(name)
		if w.sendRaw([]byte(reply)) != nil {
			return
		}
		if hangUp { // and reads on: a connection that is closed before it has read everything is reset
			_ = w.conn.(*net.TCPConn).CloseWrite()
		}
	}
}

func (m *brokenMaster) follow(t *testing.T, replica *node) {
	t.Helper()
	_, port, _ := net.SplitHostPort(m.l.Addr().String())
	require.Equal(t, "+OK", replica.call(t, "REPLICAOF", "127.0.0.1", port))
}

// aDump returns a copy as a master sends it, and its reply to PSYNC.
func aDump(t *testing.T) (head, copied string) {
	t.Helper()
	f := newFabric(t)
	master := f.node(ours)
	master.fill(t, pairingKeys("new:")...)
	w := master.dial(t)
	require.Equal(t, "+OK", doLine(t, w, "REPLCONF capa eof capa psync2"))
	require.NoError(t, w.sendRaw([]byte("PSYNC ? -1\r\n")))
	head = f.await(w)
	require.Contains(t, head, "+FULLRESYNC")
	return head + "\r\n", readCopy(t, w)
}

// TestBrokenCopies: until a copy has arrived whole, the replica has the keys that it had.
func TestBrokenCopies(t *testing.T) {
	t.Parallel()
	head, dump := aDump(t)
	mark := "x" + strings.Repeat("m", 39) // it cannot begin within the copy
	flipped := []byte(dump)
	flipped[len(flipped)/2] ^= 1
	typed := []byte(dump)
	typed[strings.Index(dump, "\x08new:kept")-1] = 15 // a stream, if there were no checksum
	ping := "*1\r\n$4\r\nPING\r\n"
	behind := fmt.Sprintf("$%d\r\n%s%s", len(dump)+len(ping), dump, ping)
	for name, send := range map[string]string{
		"cut before":          "",
		"cut in the head":     "$EO",
		"cut":                 "$EOF:" + mark + "\r\n" + dump[:len(dump)/2],
		"cut before the mark": "$EOF:" + mark + "\r\n" + dump + mark[:39],
		"cut with a length":   "$100000\r\n" + dump,
		"a huge length":       "$9223372036854775807\r\n" + dump,
		"a negative length":   "$-1\r\n" + dump,
		"too short a length":  "$100\r\n" + dump,
		"a bit flipped":       "$EOF:" + mark + "\r\n" + string(flipped) + mark,
		"no copy":             "-ERR no\r\n",
		"not a dump":          "$EOF:" + mark + "\r\nhello" + mark,
		"empty":               "$0\r\n",
		"bytes behind it":     behind,
		"a type changed":      "$EOF:" + mark + "\r\n" + string(typed) + mark,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			d := crashdisk.New(1)
			replica := f.nodeOn(ours, d.FS())
			replica.fill(t, pairingKeys("own:")...)
			want := replica.do(t, "DEBUG DIGEST")
			newBrokenMaster(t, head+send, true).follow(t, replica)
			f.until(func() bool { return replica.field(t, "master_link_error") != "" }, "no error")
			require.NotContains(t, replica.field(t, "master_link_error"), "cannot be followed")
			require.Equal(t, want, replica.do(t, "DEBUG DIGEST"))
			require.Equal(t, "down", replica.field(t, "master_link_status"))
			f.until(func() bool { return len(spools(d.Names())) == 0 }, "a file is left")
			require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			require.Equal(t, want, replica.do(t, "DEBUG DIGEST"))
		})
	}
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		replica := f.node(ours)
		replica.fill(t, "SET own v")
		newBrokenMaster(t, head+"$EOF:"+mark+"\r\n"+dump+mark, false).follow(t, replica)
		f.until(func() bool { return replica.field(t, "master_link_status") == "up" })
		require.Equal(t, "$-1", replica.do(t, "GET own"))
		require.Equal(t, "$2\r\n42", replica.do(t, "GET new:int"))
	})
}

// TestShutdownDuringSync: a server ends although its master sends the rest of a copy never.
func TestShutdownDuringSync(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	d := crashdisk.New(1)
	replica := f.nodeOn(ours, d.FS())
	newBrokenMaster(t, fromZero+"$100000\r\nREDIS", false).follow(t, replica)
	f.until(func() bool { return replica.field(t, "master_sync_read_bytes") == "5" })
	require.Equal(t, "1", replica.field(t, "master_sync_in_progress"))
	require.Equal(t, "99995", replica.field(t, "master_sync_left_bytes"))
	require.NoError(t, replica.sendRaw([]byte("SHUTDOWN NOSAVE\r\n")))
	replica.awaitClose(t)
	replica.end()
	require.Empty(t, spools(d.Names()))
}

// TestReplicaOfItself: a server that is told to follow itself, or its own replica, keeps its keys and
// answers.
func TestReplicaOfItself(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		a, b := f.node(k), f.node(ours)
		a.fill(t, "SET k v")
		host, port := a.hostPort()
		require.Equal(t, "+OK", a.call(t, "REPLICAOF", host, port))
		for range 200 {
			a.jumpOurs(t, 100*time.Millisecond)
			f.tick()
			require.Equal(t, "down", a.field(t, "master_link_status"))
		}
		require.Equal(t, "$1\r\nv", a.do(t, "GET k"))
		require.Equal(t, "+OK", a.do(t, "REPLICAOF NO ONE"))
		f.follow(b, a)
		host, port = b.hostPort()
		require.Equal(t, "+OK", a.call(t, "REPLICAOF", host, port)) // a circle
		for range 200 {
			a.jumpOurs(t, 100*time.Millisecond)
			b.jumpOurs(t, 100*time.Millisecond)
			f.tick()
			require.Equal(t, "$1\r\nv", a.do(t, "GET k"))
			require.Equal(t, "$1\r\nv", b.do(t, "GET k"))
		}
		require.Equal(t, "+OK", a.do(t, "REPLICAOF NO ONE"))
		a.fill(t, "SET k w")
		b.jumpOurs(t, 2*time.Second)
		f.requireSame(b, a)
	})
}

// TestBusyScriptOnReplica: the stream waits for a script that runs too long, and goes on behind it.
func TestBusyScriptOnReplica(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours, "--busy-reply-threshold", "1")
	master.fill(t, "SET k v")
	f.follow(replica, master)
	busy := replica.dial(t)
	words, err := oracle.Words(`EVAL_RO "while true do redis.call('get', KEYS[1]) end" 1 k`)
	require.NoError(t, err)
	require.NoError(t, busy.send(words))
	f.until(func() bool { return strings.HasPrefix(replica.do(t, "GET other"), "-BUSY") })
	master.fill(t, "SET k w", "FLUSHALL", "SET k x")
	for range 50 {
		f.tick()
		require.Contains(t, replica.do(t, "GET k"), "-BUSY")
	}
	require.Equal(t, "+OK", replica.do(t, "SCRIPT KILL"))
	require.Contains(t, busy.reply(t), "Script killed")
	f.requireSame(replica, master)
	require.Equal(t, "$1\r\nx", replica.do(t, "GET k"))
}

// TestRoleChangesInTransactions: REPLICAOF in MULTI, with commands about keys, while the stream arrives.
func TestRoleChangesInTransactions(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours)
	host, port := master.hostPort()
	stop, done := make(chan struct{}), make(chan error, 1)
	writer := master.dial(t)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := writer.sendRaw([]byte("INCR n\r\nMULTI\r\nINCR a\r\nINCR b\r\nEXEC\r\n")); err != nil {
				done <- err
				return
			}
			for range 5 {
				if _, err := writer.readReply(); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	for i := range 30 {
		replica.fill(t, "MULTI", "GET n", "REPLICAOF "+host+" "+port, "GET a", "EXEC")
		replica.jump(t, 2*time.Second)
		if i%2 == 0 {
			f.until(func() bool { return replica.field(t, "master_link_status") == "up" })
		}
		pair := replica.do(t, "MGET a b")
		values := strings.Split(pair, "\r\n")
		require.Equal(t, values[1:len(values)/2+1], values[len(values)/2+1:], pair)
		replica.fill(t, "MULTI", "GET n", "SLAVEOF NO ONE", "CLIENT KILL TYPE normal SKIPME yes", "EXEC")
	}
	close(stop)
	require.NoError(t, <-done)
	f.follow(replica, master)
	f.requireSame(replica, master)
}
