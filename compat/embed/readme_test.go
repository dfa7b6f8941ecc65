package embed_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest"
)

// allow is the README's example in Go.
func allow(ctx context.Context, client *redis.Client, user string) (bool, error) {
	reply, err := client.Do(ctx, "RL.ALLOW", "user:"+user, 100, "1m").Int64Slice()
	if err != nil {
		return false, err
	}
	// granted, limit, remaining, retry after ms, reset after ms
	return reply[0] > 0, nil
}

func TestReadme(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer client.Close()
	for i := range 101 {
		ok, err := allow(context.Background(), client, "7")
		require.NoError(t, err)
		require.Equal(t, i < 100, ok)
	}
}

// TestEdge is the example of docs/testing.md.
func TestEdge(t *testing.T) {
	srv := zlimittest.RunT(t) // ends with the test, which fails if it leaves a goroutine
	srv.Freeze()
	client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer client.Close()
	for i := range 101 {
		ok, err := allow(t.Context(), client, "42")
		require.NoError(t, err)
		require.Equal(t, i < 100, ok)
	}
	srv.Key("user:42").RequireUnits(100)

	srv.Advance(time.Minute - time.Millisecond)
	ok, err := allow(t.Context(), client, "42")
	require.NoError(t, err)
	require.False(t, ok)
	srv.Advance(time.Millisecond)
	ok, err = allow(t.Context(), client, "42")
	require.NoError(t, err)
	require.True(t, ok)
}
