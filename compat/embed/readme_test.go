package embed_test

import (
	"context"
	"testing"

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
		ok, err := allow(context.Background(), client, "42")
		require.NoError(t, err)
		require.Equal(t, i < 100, ok)
	}
}
