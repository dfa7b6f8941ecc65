package page_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener of connections without a buffer: a write blocks until it is read.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9100} }

// A localPipe is an end of a net.Pipe that looks like a connection from this machine.
type localPipe struct{ net.Conn }

func (localPipe) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// TestSlowViewer: a viewer that does not read is dropped when the time to write is over,
// and leaves its session and its place; one that reads is not.
func TestSlowViewer(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]bool{"reads": true, "does not read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPageTest(t)
			timeout := time.Millisecond
			if reads {
				timeout = time.Minute
			}
			p.page.WriteWithin(timeout)
			mux := http.NewServeMux()
			p.page.Register(mux)
			l := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
			server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
			served := make(chan error)
			go func() { served <- server.Serve(l) }()
			client, end := net.Pipe()
			defer client.Close()
			l.accepted <- localPipe{end}
			_, err := io.WriteString(client, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
			require.NoError(t, err)
			if reads {
				go func() { _, _ = io.Copy(io.Discard, client) }()
				for range 3 {
					p.ticks <- time.Time{} // received only once the last event is written
				}
				require.Equal(t, 2, p.engine.Sessions())
				require.NoError(t, client.Close())
				p.page.Close()
			}
			p.awaitSessions(1)
			require.NoError(t, server.Close())
			require.ErrorIs(t, <-served, http.ErrServerClosed)
		})
	}
}
