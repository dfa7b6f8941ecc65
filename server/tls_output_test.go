//go:build unix

package server

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

// TestTLSLastRecords: what the socket has not accepted of the last reply is sent once
// the client reads, though no more replies follow.
func TestTLSLastRecords(t *testing.T) {
	t.Parallel()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	pair, err := ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	certificate, err := pair.TLS()
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	raw, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, raw.SetDeadline(time.Now().Add(time.Minute)))
	accepted, err := l.Accept()
	require.NoError(t, err)
	nc := newTLSConn(accepted, &tls.Config{Certificates: []tls.Certificate{certificate}})
	client := tls.Client(raw, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	require.NoError(t, nc.Handshake())
	require.NoError(t, <-shaken)
	nc.wire.established = true

	o := output{nc: nc, socket: nc.wire.socket, tls: nc}
	defer o.close()
	var want bytes.Buffer
	for i := byte(0); ; i++ {
		reply := bytes.Repeat([]byte{i}, 10_000)
		want.Write(reply)
		o.append(reply)
		require.True(t, o.flush())
		if !o.sentAtOnce() {
			break // the pump has what is left, perhaps of this very reply
		}
	}
	got := make([]byte, want.Len())
	_, err = io.ReadFull(client, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got))
}

// sentAtOnce reports whether the pump never had to run.
func (o *output) sentAtOnce() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pumpDone == nil
}
