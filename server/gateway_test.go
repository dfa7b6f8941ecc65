package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipelined batch takes one round trip, and its replies come in order, those of the server itself among
// them.
func TestGatewayPipeline(t *testing.T) {
	t.Parallel()
	w := connect(t, startGateway(t, start(t, "--bind", "127.0.0.1")))
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
	g := startGateway(t, start(t, "--bind", "127.0.0.1"))
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
