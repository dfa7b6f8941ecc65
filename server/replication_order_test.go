package server_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server/pipe"
)

// TestReplicaBeforeReply: when a client is answered, a replica has been sent what the client wrote. One
// processor shows the order, several run both at once.
func TestReplicaBeforeReply(t *testing.T) { // not parallel: other tests would share the processor
	f := newFabric(t)
	master, l := f.node(ours), pipe.Listen()
	require.NoError(t, master.srv.Add(l))
	dial := func() *wire {
		c, err := l.Dial(context.Background())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return newWire(c)
	}
	client, replica := dial(), dial()
	f.attachOn(master, replica)

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sent := make([]byte, 1000)
	round := 0
	replicaFirst := func() bool {
		round++
		require.Equal(t, ":"+strconv.Itoa(round), doLine(t, client, "INCR k"))
		n, err := replica.conn.(*pipe.Conn).ReadSome(sent)
		require.NoError(t, err)
		if n > 0 {
			return true
		}
		for line := ""; line != "k\r\n"; { // the command's last
			line, err = replica.r.ReadString('\n')
			require.NoError(t, err)
		}
		return false
	}
	// Where the runtime interrupts a goroutine for others, the replica's pump may come too late. So it is
	// first many times in a row, if not at once.
	const row = 50
	first := 0
	eventually(t, func() bool { return first == row }, func() {
		if first++; !replicaFirst() {
			first = 0
		}
	}, "the reply is sent first")
}
