package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/server/pipe"
)

// A program serves its own limits to network clients too, over the same keys.
func ExampleNew() {
	srv := server.New(server.Options{})
	go srv.Serve()
	defer srv.Close()
	l := pipe.Listen() // or net.Listen, or tls.NewListener
	if err := srv.Add(l); err != nil {
		panic(err)
	}

	conn, err := l.Dial(context.Background())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "RL.ALLOW user:42 1 10s\r\n")
	line, _, _ := bufio.NewReader(conn).ReadLine()
	fmt.Printf("%s\n", line)
	d, err := srv.Limiter().Allow(context.Background(), "user:42",
		zlimit.Quota{Limit: 1, Window: 10 * time.Second}, 1)
	fmt.Println(d.OK(), err)
	// Output:
	// *5
	// false <nil>
}

// TestAddListeners adds listeners before Serve, while it runs, and after Close.
func TestAddListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if goroutines leak
		srv := server.New(server.Options{})
		require.Nil(t, srv.Addr())
		require.Zero(t, srv.Port())
		early, late, tooLate := pipe.Listen(), pipe.Listen(), pipe.Listen()
		require.NoError(t, srv.Add(early))
		served := make(chan error)
		go func() { served <- srv.Serve() }()
		synctest.Wait()
		require.NoError(t, srv.Add(late))
		for _, l := range []*pipe.Listener{early, late} {
			require.Equal(t, "+PONG\r\n", exchange(t, l, "PING\r\n", 7))
		}
		// Without the network too.
		reply, err := srv.Do(context.Background(), "PING")
		require.NoError(t, err)
		require.Equal(t, "PONG", reply)
		require.Contains(t, srv.Greeting(), "pipe")
		require.NoError(t, srv.Close())
		require.NoError(t, <-served)
		require.ErrorIs(t, srv.Add(tooLate), net.ErrClosed)
		for _, l := range []*pipe.Listener{early, late, tooLate} {
			_, err := l.Dial(context.Background())
			require.ErrorIs(t, err, net.ErrClosed)
		}
		_, err = srv.Do(context.Background(), "PING")
		require.ErrorIs(t, err, zlimit.ErrClosed)
	})
}

func exchange(t *testing.T, l *pipe.Listener, text string, size int) string {
	t.Helper()
	c, err := l.Dial(context.Background())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	got := make([]byte, size)
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	return string(got)
}

// TestPipelineLargerThanPipeBuffer sends a whole pipeline before it reads the first
// reply.
func TestPipelineLargerThanPipeBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := servePipe(t, server.Options{})
		const commands = 50_000
		require.Equal(t, strings.Repeat("+PONG\r\n", commands),
			exchange(t, l, strings.Repeat("PING\r\n", commands), 7*commands))
	})
}

// TestCloseAnswersReceivedCommandsOnPipe: as on a socket, and without waiting for a
// quiet client.
func TestCloseAnswersReceivedCommandsOnPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, l := servePipe(t, server.Options{NoCron: true})
		c, err := l.Dial(context.Background())
		require.NoError(t, err)
		synctest.Wait()
		begin := time.Now()
		_, err = io.WriteString(c, strings.Repeat("PING\r\n", 100))
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- srv.Close() }()
		replies, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("+PONG\r\n", 100), string(replies))
		_ = c.Close()
		require.NoError(t, <-done)
		require.Less(t, time.Since(begin), 5*time.Second)
	})
}

// TestIntercept tests every field of Interception.
func TestIntercept(t *testing.T) {
	for _, c := range []struct {
		name    string
		do      server.Interception
		sent    string
		replies string
		value   any // value of k afterwards
		closes  bool
	}{
		{"nothing", server.Interception{}, "SET k 1\r\nPING\r\n", "+OK\r\n+PONG\r\n", "1", false},
		{
			"refusal",
			server.Interception{Refusal: "LOADING x"},
			"SET k 1\r\nPING\r\n",
			"-LOADING x\r\n+PONG\r\n", nil, false,
		},
		{
			"refusal in MULTI",
			server.Interception{Refusal: "OOM x"},
			"MULTI\r\nSET k 1\r\nEXEC\r\n",
			"+OK\r\n-OOM x\r\n-EXECABORT Transaction discarded because of previous errors.\r\n", nil, false,
		},
		{
			"hang up before",
			server.Interception{Skip: true, Hangup: true},
			"PING\r\nSET k 1\r\nPING\r\n",
			"+PONG\r\n", nil, true,
		},
		{
			"hang up after",
			server.Interception{Hangup: true},
			"PING\r\nSET k 1\r\nPING\r\n",
			"+PONG\r\n", "1", true,
		},
		{"mute", server.Interception{Mute: true}, "PING\r\nSET k 1\r\nPING\r\n", "+PONG\r\n", "1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, l := servePipe(t, server.Options{
					NoCron: true,
					Intercept: func(args [][]byte, _ <-chan struct{}) server.Interception {
						if string(args[0]) == "SET" {
							return c.do
						}
						return server.Interception{}
					},
				})
				conn, err := l.Dial(context.Background())
				require.NoError(t, err)
				_, err = io.WriteString(conn, c.sent)
				require.NoError(t, err)
				got := make([]byte, len(c.replies))
				_, err = io.ReadFull(conn, got)
				require.NoError(t, err)
				require.Equal(t, c.replies, string(got))
				synctest.Wait()
				value, err := srv.Do(context.Background(), "GET", "k")
				require.NoError(t, err)
				require.Equal(t, c.value, value)
				_ = conn.SetReadDeadline(time.Now().Add(time.Hour)) // the bubble's clock
				_, err = conn.Read(got)
				if c.closes {
					require.ErrorIs(t, err, io.EOF)
				} else {
					require.NotErrorIs(t, err, io.EOF)
				}
				_ = conn.Close()
			})
		})
	}
}
