package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// subscriber returns a client that has subscribed to a and reads nothing more.
func subscriber(t *testing.T, srv *server.Server) *wire {
	t.Helper()
	c := connect(t, srv)
	require.NoError(t, c.conn.(*net.TCPConn).SetReadBuffer(64<<10))
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1", c.call(t, "SUBSCRIBE", "a"))
	return c
}

func messageOf(body string) string {
	return fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$%d\r\n%s", len(body), body)
}

// TestSubscribersDisconnect disconnects in every abnormal way while messages are on
// their way, and requires that nothing of the subscribers remains.
func TestSubscribersDisconnect(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	publisher := connect(t, srv)
	body := strings.Repeat("m", 1<<20)
	for i := range 8 {
		c := subscriber(t, srv)
		c.call(t, "PSUBSCRIBE", "a*")
		c.call(t, "SSUBSCRIBE", "a")
		publisher.call(t, "PUBLISH", "a", body)
		if i%2 == 0 {
			require.NoError(t, c.conn.(*net.TCPConn).SetLinger(0)) // a reset
		}
		if i%4 > 1 {
			require.NoError(t, c.sendRaw([]byte("*2\r\n$9\r\nSUBSCR"))) // in the middle of a command
		}
		require.NoError(t, c.conn.Close())
	}
	eventually(t, func() bool { return publisher.call(t, "PUBLISH", "a", "m") == ":0" }, func() {},
		"subscriptions leak")
	require.Equal(t, ":0", publisher.call(t, "SPUBLISH", "a", "m"))
	require.Equal(t, ":0", publisher.call(t, "PUBSUB", "NUMPAT"))
	require.Equal(t, "*0", publisher.call(t, "PUBSUB", "CHANNELS"))
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { publisher.call(t, "PING") },
		"sessions leak")
}

// TestNoMessageIsLost has several publishers that pipeline, and another client that
// subscribes and unsubscribes beside the subscribers that count.
func TestNoMessageIsLost(t *testing.T) {
	t.Parallel()
	const publishers, each, listeners = 3, 400, 3
	srv, _, _ := serveWith(t, config.New())
	var all []*wire
	for range listeners {
		all = append(all, subscriber(t, srv))
	}
	toggling := connect(t, srv)
	stop := meanwhile(t, func() error { return toggling.exchange("SUBSCRIBE a\r\nUNSUBSCRIBE a\r\n") })
	var work sync.WaitGroup
	for p := range publishers {
		c := connect(t, srv)
		work.Go(func() {
			var pipeline bytes.Buffer
			for i := range each {
				fmt.Fprintf(&pipeline, "PUBLISH a %d:%d\r\n", p, i)
			}
			if c.sendRaw(pipeline.Bytes()) == nil {
				_, _ = io.CopyN(io.Discard, c.r, each*int64(len(":4\r\n")))
			}
		})
	}
	var received [listeners][]string
	for l, c := range all {
		work.Go(func() {
			for range publishers * each {
				reply, err := c.readReply()
				if err != nil {
					return
				}
				lines := strings.Split(string(reply), "\r\n")
				received[l] = append(received[l], lines[len(lines)-2])
			}
		})
	}
	work.Wait()
	stop()
	next := make(map[string]int)
	for _, body := range received[0] {
		p, i, _ := strings.Cut(body, ":")
		require.Equal(t, fmt.Sprint(next[p]), i, "of publisher %s", p)
		next[p]++
	}
	for p := range publishers {
		require.Equal(t, each, next[fmt.Sprint(p)])
	}
	require.Equal(t, received[0], received[1])
	require.Equal(t, received[0], received[2])
}
