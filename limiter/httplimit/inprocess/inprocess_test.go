package inprocess_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
	"github.com/zlimit/zlimit/race"
)

// opened returns the number of sessions that were opened so far.
func opened(t *testing.T, l *zlimit.Limiter) int {
	t.Helper()
	reply, err := l.Do(t.Context(), "INFO", "stats")
	require.NoError(t, err)
	_, rest, found := strings.Cut(fmt.Sprint(reply), "total_connections_received:")
	require.True(t, found)
	n, err := strconv.Atoi(rest[:strings.IndexByte(rest, '\r')])
	require.NoError(t, err)
	return n
}

// Requests neither open sessions, unlike commands, nor allocate.
func TestBackendIsCheap(t *testing.T) {
	l := zlimit.New(zlimit.Options{})
	defer l.Close()
	l.Engine().Clock().Freeze()
	quota := httplimit.Quota{Limit: 1 << 20, Window: time.Minute, Cost: 1}
	ctx := context.Background()
	const requests = 1000
	ask := func(b httplimit.Backend, key string) {
		if d, err := b.Allow(ctx, key, quota); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	}
	sessions := func(b httplimit.Backend, key string) int {
		for range requests { // warm up
			ask(b, key)
		}
		before := opened(t, l)
		for range requests {
			ask(b, key)
		}
		return opened(t, l) - before - 1 // the one for INFO
	}
	require.Equal(t, requests, sessions(httplimit.Commands(l.Do), "a"))
	backend := inprocess.Backend(l)
	require.Less(t, sessions(backend, "b"), 100)
	if !race.Enabled { // the race detector allocates
		quota.Limit = 1 // denied: the window does not grow
		ask(backend, "c")
		require.Zero(t, testing.AllocsPerRun(requests, func() {
			if d, err := backend.Allow(ctx, "c", quota); err != nil || d.Allowed {
				t.Fatal(d, err)
			}
		}))
	}
}

func TestBackendErrors(t *testing.T) {
	l := zlimit.New(zlimit.Options{})
	_, err := l.Do(t.Context(), "SET", "text", "x")
	require.NoError(t, err)
	quota := httplimit.Quota{Limit: 1, Window: time.Minute, Cost: 1}
	_, err = inprocess.Backend(l).Allow(t.Context(), "text", quota)
	var reply zlimit.Error
	require.ErrorAs(t, err, &reply)
	require.Equal(t, "WRONGTYPE", reply.Code())
	require.NoError(t, l.Close())
	_, err = inprocess.Backend(l).Allow(t.Context(), "text", quota)
	require.ErrorIs(t, err, zlimit.ErrClosed)
}
