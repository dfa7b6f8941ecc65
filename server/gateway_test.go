package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server"
)

// gatewayOver starts a gateway whose upstream is a server, and connects to it.
func gatewayOver(t *testing.T, up *server.Server) (*server.Server, *wire) {
	t.Helper()
	g := start(t, "--bind", "127.0.0.1", "--upstream", "redis://"+up.Addr().String(),
		"--upstream-timeout", "60000")
	return g, connect(t, g)
}

func upstreamFor(t *testing.T) *server.Server { return start(t, "--bind", "127.0.0.1") }

// A pipelined batch takes one round trip, and its replies come in order, those of the server itself among
// them.
func TestGatewayPipeline(t *testing.T) {
	t.Parallel()
	_, w := gatewayOver(t, upstreamFor(t))
	w.call(t, "GET", "k")
	before := infoField(t, w, "upstream_round_trips")
	var want []string
	var batch strings.Builder
	for i := range 500 {
		fmt.Fprintf(&batch, "SET k%d %d\r\nINCR k%d\r\n", i, i, i)
		want = append(want, "+OK", fmt.Sprintf(":%d", i+1))
	}
	require.NoError(t, w.sendRaw([]byte(batch.String())))
	for _, reply := range want {
		require.Equal(t, reply, w.reply(t))
	}
	after := infoField(t, w, "upstream_round_trips")
	var a, b int
	fmt.Sscan(before, &a)
	fmt.Sscan(after, &b)
	require.LessOrEqual(t, b-a, 8, "a few for the pieces in which the batch arrives")

	require.Contains(t, w.call(t, "INFO", "commandstats"), "cmdstat_incr:calls=500,")
}

// The program that runs a gateway gets values.
func TestGatewayInside(t *testing.T) {
	t.Parallel()
	g, _ := gatewayOver(t, upstreamFor(t))
	ctx := context.Background()
	got, err := g.Do(ctx, "HSET", "h", "f", "v")
	require.NoError(t, err)
	require.Equal(t, int64(1), got)
	got, err = g.Do(ctx, "HGETALL", "h")
	require.NoError(t, err)
	require.Equal(t, []any{"f", "v"}, got)
	long := strings.Repeat("v", 100_000)
	_, err = g.Do(ctx, "SET", "k", long)
	require.NoError(t, err)
	got, err = g.Do(ctx, "GET", "k")
	require.NoError(t, err)
	require.Equal(t, long, got)
	_, err = g.Do(ctx, "INCR", "h")
	require.ErrorContains(t, err, "WRONGTYPE")
}

// TestGatewayUnsubscribes: a channel that nobody listens to any more is left upstream.
func TestGatewayUnsubscribes(t *testing.T) {
	t.Parallel()
	up := upstreamFor(t)
	g, _ := gatewayOver(t, up)
	c, direct := connect(t, g), connect(t, up)
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1", c.call(t, "SUBSCRIBE", "c"))
	require.Equal(t, ":1", direct.call(t, "PUBLISH", "c", "m"))
	require.NoError(t, c.conn.Close())
	eventually(t, func() bool {
		return direct.call(t, "PUBSUB", "NUMSUB", "c") == "*2\r\n$1\r\nc\r\n:0"
	}, func() {})
}
