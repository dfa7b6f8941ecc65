package server

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUrgentData: what follows urgent data, at which a read stops, is read too.
func TestUrgentData(t *testing.T) {
	t.Parallel()
	g := startGated(t)
	nc := dial(t, g.Server)
	exchange(t, nc, "GATE", "")
	<-g.reached
	exchange(t, nc, "PING", "")
	raw, err := nc.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		err = syscall.Sendto(int(fd), []byte("!"), syscall.MSG_OOB, nil)
	}))
	require.NoError(t, err)
	exchange(t, nc, "PING", "")
	g.openGate(t)
	require.Equal(t, "+PONG\r\n", readLine(t, nc))
	require.Equal(t, "+PONG\r\n", readLine(t, nc))
}

// A narrow is a transport that writes only as many bytes as it is given room for.
type narrow struct {
	transport
	room atomic.Int64
}

func (n *narrow) writeSome(b []byte) (int, error) {
	written, err := n.transport.writeSome(b[:min(int64(len(b)), n.room.Load())])
	n.room.Add(int64(-written))
	return written, err
}

// TestTLSLateCloseNotify: a socket that accepts the last reply and no more gets close_notify later, and not
// the end of the stream instead.
func TestTLSLateCloseNotify(t *testing.T) {
	t.Parallel()
	if feedsAll {
		t.Skip("a goroutine writes, and waits until all is accepted, with -fed")
	}
	s := startOneLoop(t)
	s.ExtendLingerTimeout()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	raw, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	inside, outside := tlsConfigsOf(t)
	client := tls.Client(raw, outside)
	defer client.Close()
	require.NoError(t, client.SetDeadline(time.Now().Add(testTimeout)))
	accepted, err := l.Accept()
	require.NoError(t, err)
	inside.SessionTicketsDisabled = true
	over := newTLSConn(accepted, inside)
	c := arrive(t, s, over)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	require.True(t, c.shakeHands(over))
	require.NoError(t, <-shaken)
	carrier := &narrow{transport: c.carrier}
	over.wire.transport = carrier
	carrier.room.Store(5 + 5 + 1 + 16) // a record of TLSv1.3 that holds +OK
	c.add()
	exchange(t, client, "QUIT", "+OK\r\n")
	for end := time.Now().Add(testTimeout); over.unsent() == 0; {
		require.True(t, time.Now().Before(end), "close_notify is not made")
	}
	<-c.loop.turn()
	<-c.loop.turn() // the connection has run
	carrier.room.Store(1 << 20)
	c.wake()                    // as the poller does
	_, err = io.ReadAll(client) // crypto/tls takes an end of the stream for close_notify
	require.NoError(t, err)
	awaitConnections(t, s, 0)
	require.EqualValues(t, 5+2+1+16, 1<<20-carrier.room.Load())
}
