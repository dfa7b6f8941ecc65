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
	"github.com/zlimit/zlimit/server/pipe"
)

// inBubble runs a test against a server with timeout 1, in a bubble: who has a
// second to ask again must not be late because the machine is busy.
func inBubble(t *testing.T, test func(t *testing.T, srv *server.Server, dial func() *wire)) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config.New()
		require.NoError(t, cfg.ParseArgs([]string{"--timeout", "1"}, nil))
		srv, l := server.New(server.Options{Config: cfg, Still: true}), pipe.Listen()
		require.NoError(t, srv.Add(l))
		go srv.Serve()
		defer srv.Close()
		test(t, srv, func() *wire {
			c, err := l.Dial(context.Background())
			require.NoError(t, err)
			return newWire(c)
		})
	})
}

// pass lets time pass, and everything happen that is due.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
	synctest.Wait()
}

// requireEnded requires that the connection is over.
func requireEnded(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestTimeoutSparesWhoAsks(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *server.Server, dial func() *wire) {
		busy, idle := dial(), dial()
		require.Equal(t, "+PONG", idle.call(t, "PING"))
		for range 10 {
			require.Equal(t, "+PONG", busy.call(t, "PING"))
			pass(999 * time.Millisecond)
		}
		requireEnded(t, idle.conn)
		require.Equal(t, 1, srv.Engine().Sessions())
		require.Equal(t, "+OK", busy.call(t, "CONFIG", "SET", "timeout", "0"))
		pass(time.Hour)
		require.Equal(t, "+PONG", busy.call(t, "PING"))
		require.Equal(t, "+OK", busy.call(t, "CONFIG", "SET", "timeout", "1"))
		pass(999 * time.Millisecond)
		require.Equal(t, "+PONG", busy.call(t, "PING"), "its second began when it was told")
		pass(time.Second)
		requireEnded(t, busy.conn)
	})
}

// TestSubscribersAreNotIdle: timeout is for who says nothing and waits for
// nothing.
func TestSubscribersAreNotIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *server.Server, dial func() *wire) {
		listening, waiting := dial(), dial()
		listening.call(t, "SUBSCRIBE", "a")
		require.NoError(t, waiting.sendRaw([]byte("BLPOP k 0\r\n")))
		pass(time.Hour)
		for _, line := range [][]any{{"PUBLISH", "a", "m"}, {"RPUSH", "k", "v"}} {
			n, err := srv.Do(context.Background(), line...)
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
		require.Equal(t, messageOf("m"), listening.reply(t))
		require.Equal(t, "*2\r\n$1\r\nk\r\n$1\r\nv", waiting.reply(t))
		listening.call(t, "UNSUBSCRIBE", "a")
		pass(time.Second)
		requireEnded(t, listening.conn)
		requireEnded(t, waiting.conn)
	})
}
