//go:build unix

package server

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTLSLastRecords: what the socket has not accepted of the last reply is sent once
// the client reads, though no more replies follow.
func TestTLSLastRecords(t *testing.T) {
	t.Parallel()
	if feedsAll {
		t.Skip("nothing reads what is no loop's with -fed")
	}
	inside, outside := tlsConfigsOf(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	raw, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, raw.SetDeadline(time.Now().Add(time.Minute)))
	accepted, err := l.Accept()
	require.NoError(t, err)
	nc := newTLSConn(accepted, inside)
	client := tls.Client(raw, outside)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	require.NoError(t, nc.Handshake())
	require.NoError(t, <-shaken)
	carrier, err := newTransport(accepted)
	require.NoError(t, err)
	nc.wire.transport = carrier

	o := output{transport: nc}
	defer o.close()
	var want bytes.Buffer
	for i := byte(0); o.drained(); i++ {
		reply := bytes.Repeat([]byte{i}, 10_000)
		want.Write(reply)
		o.append(reply)
		require.True(t, o.flush())
	}
	read := make(chan error, 1)
	got := make([]byte, want.Len())
	go func() {
		_, err := io.ReadFull(client, got)
		read <- err
	}()
	for !o.drained() { // as a loop does whenever the socket accepts more
		o.resume()
		runtime.Gosched()
	}
	require.NoError(t, <-read)
	require.True(t, bytes.Equal(want.Bytes(), got))
}
