package server_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// runWithTimeout runs a test against a server with timeout 1 in a synctest bubble,
// so that a busy machine does not make clients late.
func runWithTimeout(t *testing.T, test func(t *testing.T, srv *server.Server, dial func() *wire)) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config.New()
		require.NoError(t, cfg.ParseArgs([]string{"--timeout", "1"}, nil))
		srv, l := servePipe(t, server.Options{Config: cfg, NoCron: true})
		test(t, srv, func() *wire {
			c, err := l.Dial(context.Background())
			require.NoError(t, err)
			return newWire(c)
		})
	})
}

// advance lets time pass and waits until all goroutines block.
func advance(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
	synctest.Wait()
}

// requireEOF requires that the server has closed the connection.
func requireEOF(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestTimeoutSparesActiveClients(t *testing.T) {
	runWithTimeout(t, func(t *testing.T, srv *server.Server, dial func() *wire) {
		busy, idle := dial(), dial()
		require.Equal(t, "+PONG", idle.call(t, "PING"))
		for range 10 {
			require.Equal(t, "+PONG", busy.call(t, "PING"))
			advance(999 * time.Millisecond)
		}
		requireEOF(t, idle.conn)
		require.Equal(t, 1, srv.Engine().Sessions())
		require.Equal(t, "+OK", busy.call(t, "CONFIG", "SET", "timeout", "0"))
		advance(time.Hour)
		require.Equal(t, "+PONG", busy.call(t, "PING"))
		require.Equal(t, "+OK", busy.call(t, "CONFIG", "SET", "timeout", "1"))
		advance(999 * time.Millisecond)
		require.Equal(t, "+PONG", busy.call(t, "PING"), "the timeout starts at CONFIG SET")
		advance(time.Second)
		requireEOF(t, busy.conn)
	})
}

// TestSubscribersAreNotIdle: timeout does not apply to subscribed and blocked
// clients.
func TestSubscribersAreNotIdle(t *testing.T) {
	runWithTimeout(t, func(t *testing.T, srv *server.Server, dial func() *wire) {
		subscriber, blocked := dial(), dial()
		subscriber.call(t, "SUBSCRIBE", "a")
		require.NoError(t, blocked.sendRaw([]byte("BLPOP k 0\r\n")))
		advance(time.Hour)
		for _, line := range [][]any{{"PUBLISH", "a", "m"}, {"RPUSH", "k", "v"}} {
			n, err := srv.Do(context.Background(), line...)
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
		require.Equal(t, messageOf("m"), subscriber.reply(t))
		require.Equal(t, "*2\r\n$1\r\nk\r\n$1\r\nv", blocked.reply(t))
		subscriber.call(t, "UNSUBSCRIBE", "a")
		advance(time.Second)
		requireEOF(t, subscriber.conn)
		requireEOF(t, blocked.conn)
	})
}
