package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve answers every PING on the loopback with reply's result for its number, counted
// from 1 over all connections, until the test ends. An empty reply closes the
// connection.
func serve(t *testing.T, reply func(n int64) string) (address string) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	var n atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
				defer out.Flush()
				for got := make([]byte, len(pingRequest)); ; {
					if in.Buffered() < len(got) && out.Flush() != nil {
						return
					}
					if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, []byte(pingRequest)) {
						return
					}
					answer := reply(n.Add(1))
					if answer == "" {
						return
					}
					out.WriteString(answer)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

const pingRequest = "*1\r\n$4\r\nPING\r\n"

func pings(address string, pipeline, connections int, flows int64) *load {
	return &load{
		address: address, flow: ping, pipeline: pipeline, connections: connections,
		keys: uniform(10, 0), quota: perMinute, flows: flows,
	}
}

func TestLoadStopsAfterFlows(t *testing.T) {
	var asked atomic.Int64
	address := serve(t, func(n int64) string { asked.Store(n); return "+PONG\r\n" })
	tally, err := pings(address, 4, 3, 600).run(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 600, tally.all)
	require.EqualValues(t, 600, tally.flows)
	require.EqualValues(t, 150, tally.latency.total, "one latency a batch")
	require.EqualValues(t, 600, asked.Load())
	require.Positive(t, tally.elapsed)
}

// TestLoadFailsOnError uses a server that answers correctly for a while.
func TestLoadFailsOnError(t *testing.T) {
	for name, wrong := range map[string]string{
		"error reply": "-ERR max number of clients reached\r\n",
		"other reply": "$4\r\nPONG\r\n",
		"two replies": "+PONG\r\n+PONG\r\n",
		"hung up":     "",
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(n int64) string {
				if n == 100 {
					return wrong
				}
				return "+PONG\r\n"
			})
			_, err := pings(address, 1, 2, 1_000_000).run(context.Background())
			require.Error(t, err)
		})
	}
}

func TestLoadStopsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	address := serve(t, func(n int64) string {
		if n == 10 {
			cancel()
		}
		return "+PONG\r\n"
	})
	_, err := pings(address, 1, 1, 1<<40).run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// TestLoadAlternatesSteps runs a flow of two steps. The second is sent only when the
// first is answered, and both are one flow.
func TestLoadAlternatesSteps(t *testing.T) {
	address := serve(t, func(n int64) string {
		if n%2 == 1 {
			return ":99\r\n"
		}
		return ":100\r\n"
	})
	l := pings(address, 1, 1, 10)
	l.flow = flow{
		{[]string{"PING"}, []line{{":99", nothing}}},
		{[]string{"PING"}, []line{{":", below}}},
	}
	tally, err := l.run(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 10, tally.all)
	require.EqualValues(t, 10, tally.denied)
	require.Zero(t, tally.admitted)
}

// TestPacedLatencyStartsWhenDue uses a server that pauses. Batches due meanwhile
// have waited, which a closed loop would not notice.
func TestPacedLatencyStartsWhenDue(t *testing.T) {
	held := make(chan struct{})
	address := serve(t, func(n int64) string {
		if n == 1 {
			<-held
		}
		return "+PONG\r\n"
	})
	l := pings(address, 1, 1, 0)
	l.duration, l.perSecond = 40*time.Millisecond, 1000
	wake := sync.OnceFunc(func() { close(held) })
	l.during = func(now time.Duration) (phase, error) {
		if now >= l.duration/2 {
			wake()
		}
		return counted, nil
	}
	got, err := l.run(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 40, got.all, "as many as the rate says, late or not")
	require.EqualValues(t, 40, got.latency.total)
	require.GreaterOrEqual(t, got.latency.quantile(0.75), 4*time.Millisecond,
		"half of them were due before the server woke")
}
