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

// newBrokenMaster sends to PSYNC what it is given.
func newBrokenMaster(t *testing.T, send string) *brokenMaster {
	return newMasterSaying(t, func(command string) (string, bool) {
		if command == "psync" {
			return send, false
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

// TestBrokenCopies: whatever a master says, until a copy has arrived whole, its replica answers clients, says
// why it does not follow, and has the keys that it had.
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
	sent := map[string]string{
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
	}
	type answer struct {
		command, reply string
		hangUp         bool
	}
	id := strings.Repeat("a", 40)
	answers := map[string]answer{
		"to PING":           {command: "ping", reply: "\x00\xff\x17garbage\r\n"},
		"HTTP":              {command: "ping", reply: "HTTP/1.1 400 Bad Request\r\n\r\n"},
		"an array":          {command: "ping", reply: "*1\r\n$4\r\nPONG\r\n"},
		"no end of a line":  {command: "ping", reply: strings.Repeat("x", 1<<20)},
		"to PSYNC":          {command: "psync", reply: "\x00\xff\x17garbage\r\n"},
		"39 bytes":          {command: "psync", reply: "+FULLRESYNC " + id[1:] + " 0\r\n"},
		"41 bytes":          {command: "psync", reply: "+FULLRESYNC " + id + "a 0\r\n"},
		"no offset":         {command: "psync", reply: "+FULLRESYNC " + id + "\r\n"},
		"a negative offset": {command: "psync", reply: "+FULLRESYNC " + id + " -7\r\n"},
		"unasked CONTINUE":  {command: "psync", reply: "+CONTINUE\r\n"},
		"no dump":           {command: "psync", reply: fromZero + "\x00\xff\x17garbage\r\n"},
	}
	for name, send := range sent {
		answers[name] = answer{"psync", head + send, true}
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			d := crashdisk.New(1)
			replica := f.nodeOn(ours, d.FS())
			replica.fill(t, pairingKeys("own:")...)
			want := replica.do(t, "DEBUG DIGEST")
			newMasterSaying(t, func(command string) (string, bool) {
				if command == c.command {
					return c.reply, c.hangUp
				}
				return "+OK\r\n", false
			}).follow(t, replica)
			f.until(func() bool { return replica.field(t, "master_link_error") != "" }, "no error")
			require.NotContains(t, replica.field(t, "master_link_error"), "cannot be followed")
			require.Equal(t, want, replica.do(t, "DEBUG DIGEST"))
			require.Equal(t, "down", replica.field(t, "master_link_status"))
			f.until(func() bool { return len(spools(d.Names())) == 0 }, "a file is left")
			require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			require.Equal(t, want, replica.do(t, "DEBUG DIGEST"))
			require.Equal(t, "+OK", replica.do(t, "SET own:new v"), "it is a master again")
		})
	}
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		replica := f.node(ours)
		replica.fill(t, "SET own v")
		newBrokenMaster(t, head+"$EOF:"+mark+"\r\n"+dump+mark).follow(t, replica)
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
	newBrokenMaster(t, fromZero+"$100000\r\nREDIS").follow(t, replica)
	f.until(func() bool { return replica.field(t, "master_sync_read_bytes") == "5" })
	require.Equal(t, "1", replica.field(t, "master_sync_in_progress"))
	require.Equal(t, "99995", replica.field(t, "master_sync_left_bytes"))
	require.NoError(t, replica.sendRaw([]byte("SHUTDOWN NOSAVE\r\n")))
	replica.awaitClose(t)
	replica.end()
	require.Empty(t, spools(d.Names()))
}

// TestRoleChangesInTransactions: REPLICAOF in MULTI, with commands about keys, while the stream arrives.
func TestRoleChangesInTransactions(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	master, replica := f.node(ours), f.node(ours)
	host, port := master.hostPort()
	writer := master.dial(t)
	stop := meanwhile(t, func() error {
		return writer.exchange("INCR n\r\nMULTI\r\nINCR a\r\nINCR b\r\nEXEC\r\n")
	})
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
	stop()
	f.follow(replica, master)
	f.requireSame(replica, master)
}
