package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// recordedReplicas are how redis-server 7.0.15 introduces itself as a replica to a server of ours: what the
// two are told. After the copy and a change the connection is cut, and the replica comes back.
var recordedReplicas = []struct {
	name, of    string // of: directives of the master
	directives  string // of the replica
	fails       bool
	ip          string // that it announces
	portDiffers bool
}{
	{name: "plain"},
	{
		name: "announced", directives: "--replica-announce-ip 10.0.0.9 --replica-announce-port 7777",
		ip: "10.0.0.9", portDiffers: true,
	},
	{name: "in-memory", directives: "--repl-diskless-load swapdb"},
	{name: "without-delay", of: "--repl-diskless-sync no"},
	{name: "password", of: requirePass, directives: "--masterauth secret"},
	{name: "user", of: replicaUser + " +psync", directives: "--masteruser replica --masterauth p"},
	{name: "wrong-password", of: requirePass, directives: "--masterauth guess", fails: true},
	{name: "no-password", of: requirePass, fails: true},
	{name: "no-rights", of: replicaUser, directives: "--masteruser replica --masterauth p", fails: true},
}

func replicaFile(name string) string { return filepath.Join("testdata", "replicas", name+".txt") }

// An asked is a command of a replica, as it was sent, and the line that the master has replied, without what
// differs in every run.
type asked struct{ command, reply string }

var (
	idAndOffset = regexp.MustCompile(`[0-9a-f]{40}( \d+)?`)
	aPSYNC      = regexp.MustCompile(`\$40\r\n[0-9a-f]{40}\r\n\$\d+\r\n\d+`)
)

// conversation returns those of one connection of a relay.
func conversation(t *testing.T, replica, master []byte) (all []asked) {
	t.Helper()
	said, replied := bufio.NewReader(bytes.NewReader(replica)), bufio.NewReader(bytes.NewReader(master))
	for {
		for b, err := said.Peek(1); err == nil && b[0] == '\n'; b, err = said.Peek(1) {
			_, _ = said.Discard(1) // it is loading
		}
		command, err := []byte(nil), error(nil)
		if b, _ := said.Peek(1); len(b) > 0 && b[0] != '*' {
			command, err = said.ReadBytes('\n') // SYNC, which follows a PSYNC that was refused
		} else {
			command, err = scenario.ReadReply(said, nil)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all
		}
		require.NoError(t, err)
		if bytes.Contains(command, []byte("\r\nACK\r\n")) {
			continue
		}
		reply, err := replied.ReadString('\n')
		for err == nil && reply == "\n" {
			reply, err = replied.ReadString('\n')
		}
		if err != nil {
			return all
		}
		all = append(all, asked{
			aPSYNC.ReplaceAllString(string(command), "ID-AND-OFFSET"),
			idAndOffset.ReplaceAllString(reply, "ID-AND-OFFSET"),
		})
	}
}

const (
	requirePass = "--requirepass secret"
	replicaUser = "--user replica on >p +replconf +ping"
)

// masterOf starts a master of ours and logs in.
func (f *fabric) masterOf(directives string) *node {
	f.t.Helper()
	if directives != requirePass {
		return f.node(ours, strings.Fields(directives)...)
	}
	master := f.node(ours)
	master.fill(f.t, "CONFIG SET requirepass secret", "AUTH secret")
	return master
}

// TestRecordReplicas asks redis-server.
func TestRecordReplicas(t *testing.T) {
	if !*record {
		t.Skip("it records anew from redis-server what TestRecordedReplicas replays: run with -record")
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(replicaFile("x")), 0o755))
	for _, c := range recordedReplicas {
		t.Run(c.name, func(t *testing.T) {
			f := newFabric(t)
			master := f.masterOf(c.of)
			replica := f.node(redis, strings.Fields(c.directives)...)
			r := newRelay(t, master)
			r.keep()
			r.follow(replica)
			if c.fails {
				f.until(func() bool { return r.connections() > 1 })
			} else {
				f.until(func() bool { return replica.field(t, "master_link_status") == "up" })
				master.fill(t, "SET k v")
				f.sameHistory(replica, master)
				require.Equal(t, ":1", master.do(t, "CLIENT KILL TYPE replica"))
				f.until(func() bool { _, partial := master.counts(t); return partial == "1" })
				f.until(func() bool { return replica.field(t, "master_link_status") == "up" })
			}
			var b strings.Builder
			for i := range map[bool]int{false: 2, true: 1}[c.fails] {
				said, replied := r.kept(i)
				for _, e := range conversation(t, said, replied) {
					fmt.Fprintf(&b, "> %q\n< %q\n", e.command, e.reply)
				}
				b.WriteString("#\n")
			}
			require.NoError(t, os.WriteFile(replicaFile(c.name), []byte(b.String()), 0o644))
		})
	}
}

// readConversations returns the connections of a recording.
func readConversations(t *testing.T, name string) (all [][]asked) {
	t.Helper()
	text, err := os.ReadFile(replicaFile(name))
	require.NoError(t, err)
	var one []asked
	for line := range strings.Lines(string(text)) {
		if line == "#\n" {
			all, one = append(all, one), nil
			continue
		}
		said, err := strconv.Unquote(strings.TrimSpace(line[2:]))
		require.NoError(t, err)
		if line[0] == '>' {
			one = append(one, asked{command: said})
		} else {
			one[len(one)-1].reply = said
		}
	}
	return all
}

// TestRecordedReplicas: to what redis-server says as a replica, a master of ours replies what it did when
// that was recorded, however it is cut into pieces; then it sends the copy and the stream, and counts
// confirmations.
func TestRecordedReplicas(t *testing.T) {
	t.Parallel()
	for _, c := range recordedReplicas {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			recorded := readConversations(t, c.name)
			require.Len(t, recorded, map[bool]int{false: 2, true: 1}[c.fails])
			for _, size := range []int{1, 7, 1 << 20} {
				replayReplica(t, recorded, size, c.of, c.fails, func(t *testing.T, slave string) {
					ip := c.ip
					if ip == "" {
						ip = "127.0.0.1"
					}
					require.Regexp(t, `^ip=`+regexp.QuoteMeta(ip)+`,port=\d+,state=online,`, slave)
					require.Equal(t, c.portDiffers, strings.Contains(slave, ",port=7777,"), slave)
				})
			}
		})
	}
}

// replayReplica plays the recorded replica for a master, in pieces of at most size bytes.
func replayReplica(
	t *testing.T, recorded [][]asked, size int, directives string, fails bool,
	check func(t *testing.T, slave string),
) {
	f := newFabric(t)
	master := f.masterOf(directives)
	master.fill(t, "SET before 1")
	for i, connection := range recorded {
		w := master.dial(t)
		id, at := master.field(t, "master_replid"), master.offset(t)
		if i == 0 { // as a master it was in a history of its own
			id, at = strings.Repeat("b", 40), 0
		}
		next := strconv.FormatInt(at+1, 10)
		place := fmt.Sprintf("$40\r\n%s\r\n$%d\r\n%s", id, len(next), next)
		for _, e := range connection {
			command := strings.ReplaceAll(e.command, "ID-AND-OFFSET", place)
			for rest := command; rest != ""; {
				n := min(size, len(rest))
				require.NoError(t, w.sendRaw([]byte(rest[:n])))
				rest = rest[n:]
			}
			reply := f.await(w) + "\r\n"
			reply = idAndOffset.ReplaceAllString(reply, "ID-AND-OFFSET")
			require.Equal(t, e.reply, reply, "to %q", e.command)
		}
		if fails {
			require.Equal(t, "0", master.field(t, "connected_slaves"))
			return
		}
		if i == 0 {
			require.Contains(t, readCopy(t, w), "before")
			at = master.offset(t)
		}
		ack := func(offset int64) {
			text := strconv.FormatInt(offset, 10)
			require.NoError(t, w.send([][]byte{[]byte("REPLCONF"), []byte("ACK"), []byte(text)}))
		}
		ack(at)
		f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
		check(t, master.field(t, "slave0"))
		master.fill(t, "SET during "+strconv.Itoa(i))
		for command := ""; !strings.Contains(command, "during"); command = f.await(w) {
			require.NotContains(t, command, "before")
		}
		other := master.dial(t)
		if directives == requirePass {
			require.Equal(t, "+OK", doLine(t, other, "AUTH secret"))
		}
		require.NoError(t, other.sendRaw([]byte("SET x 1\r\nWAIT 1 0\r\n")))
		require.Equal(t, "+OK", f.await(other))
		f.until(func() bool { return master.offset(t) > at })
		ack(master.offset(t) + 1000) // pings may come
		require.Equal(t, ":1", f.await(other))
		require.NoError(t, w.conn.Close())
		f.until(func() bool { return master.field(t, "connected_slaves") == "0" })
	}
	full, partial := master.counts(t)
	require.Equal(t, "1 1", full+" "+partial)
}
