package server_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// blockedClients waits until so many clients of a node are blocked.
func (f *fabric) blockedClients(n *node, count int) {
	f.t.Helper()
	f.until(func() bool {
		fields, _ := n.info(f.t, "clients")
		return fields["blocked_clients"] == strconv.Itoa(count)
	})
}

// TestShutdownWaitsForReplicas: SHUTDOWN postpones writes until replicas have everything. Until then it can
// be aborted, and goes on without the client that has sent it.
func TestShutdownWaitsForReplicas(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, c := f.masterOfSilent(k, "1")
		master.fill(t, "CONFIG SET shutdown-timeout 1000000")
		first, second, writer := master.dial(t), master.dial(t), master.dial(t)
		ids := []string{doLine(t, first, "CLIENT ID"), doLine(t, second, "CLIENT ID")}
		require.NoError(t, first.send(wordsOf(t, "SHUTDOWN NOSAVE")))
		f.blockedClients(master, 1)
		require.NoError(t, second.send(wordsOf(t, "SHUTDOWN NOSAVE NOW")), "it is too late for NOW")
		f.blockedClients(master, 2)
		fields, _ := master.info(t, "server")
		left, err := strconv.Atoi(fields["shutdown_in_milliseconds"])
		require.NoError(t, err)
		require.Greater(t, left, 900_000_000)
		for line, want := range map[string]string{
			"SHUTDOWN ABORT NOW": "-ERR syntax error", "GET k": "$1\r\nv", "CLIENT UNPAUSE": "+OK",
		} {
			require.Contains(t, master.do(t, line), want, line)
		}
		for _, id := range ids {
			if k == redis {
				break // it crashes
			}
			require.Equal(t, ":0", master.do(t, "CLIENT UNBLOCK "+id[1:]), "it does not end")
		}
		require.NoError(t, writer.send(wordsOf(t, "SET k late")))
		f.blockedClients(master, 3)
		require.Equal(t, "$1\r\nv", master.do(t, "GET k"))
		require.Equal(t, "+OK", master.do(t, "SHUTDOWN ABORT"))
		require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", f.await(first))
		require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", f.await(second))
		require.Equal(t, "+OK", f.await(writer))
		require.Equal(t, "-ERR No shutdown in progress.", master.do(t, "SHUTDOWN ABORT"))
		fields, _ = master.info(t, "server")
		require.NotContains(t, fields, "shutdown_in_milliseconds")
		if k == redis {
			return // a second SHUTDOWN ends it at once
		}

		require.NoError(t, first.send(wordsOf(t, "SHUTDOWN NOSAVE")))
		f.blockedClients(master, 1)
		require.NoError(t, first.conn.Close())
		f.blockedClients(master, 0)
		require.NoError(t, writer.send(wordsOf(t, "SET k later")))
		f.blockedClients(master, 1)
		_, err = fmt.Fprintf(c, "REPLCONF ACK %d\r\n", master.offset(t))
		require.NoError(t, err)
		f.nodes = f.nodes[:0]
		require.Equal(t, "EOF", f.await(writer), "the process has ended")
	})
}

// TestShutdownTimeout: SHUTDOWN waits no longer than shutdown-timeout, and with NOW or without replicas that
// are behind not at all.
func TestShutdownTimeout(t *testing.T) {
	t.Parallel()
	for _, directive := range []string{"1", "0"} {
		for _, k := range []kind{ours, redis} {
			t.Run(string(k)+" "+directive, func(t *testing.T) {
				t.Parallel()
				f := newFabric(t)
				master, _ := f.masterOfSilent(k, "1")
				master.fill(t, "CONFIG SET shutdown-timeout "+directive)
				w := master.dial(t)
				f.nodes = f.nodes[:0]
				require.NoError(t, w.send(wordsOf(t, "SHUTDOWN NOSAVE")))
				require.Equal(t, "EOF", f.await(w))
			})
		}
	}
	t.Run("now", func(t *testing.T) {
		t.Parallel()
		f := newFabric(t)
		master, _ := f.masterOfSilent(ours, "1")
		master.fill(t, "CONFIG SET shutdown-timeout 1000000")
		w := master.dial(t)
		f.nodes = f.nodes[:0]
		require.NoError(t, w.send(wordsOf(t, "SHUTDOWN NOSAVE NOW")))
		require.Equal(t, "EOF", f.await(w))
	})
}

// TestShutdownOfMasterLosesNothing: a replica has what was acknowledged before the end.
func TestShutdownOfMasterLosesNothing(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		f.follow(replica, master)
		w := master.dial(t)
		for i := range 1000 {
			require.NoError(t, w.send(wordsOf(t, fmt.Sprint("RPUSH l ", i))))
		}
		require.NoError(t, w.send(wordsOf(t, "SHUTDOWN NOSAVE")))
		f.nodes = []*node{replica}
		last := ""
		for reply := f.await(w); reply != "EOF"; reply = f.await(w) {
			last = reply
		}
		require.Equal(t, last, replica.do(t, "LLEN l"))
		require.Equal(t, ":1000", last)
	})
}
