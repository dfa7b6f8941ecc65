package window_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest/miniredis"

	"github.com/zlimit/zlimit/compat/embed/window"
)

// start is when these tests begin.
var start = time.Unix(1_700_000_000, 0)

func setup(t *testing.T) (*miniredis.Miniredis, *window.Limiter) {
	t.Helper()
	m := miniredis.RunT(t)
	m.SetTime(start)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return m, &window.Limiter{Client: client, Limit: 3, Window: time.Minute}
}

func allow(t *testing.T, l *window.Limiter, key string) bool {
	t.Helper()
	ok, err := l.Allow(context.Background(), key)
	require.NoError(t, err)
	return ok
}

func TestUpToTheLimit(t *testing.T) {
	m, l := setup(t)
	for range 3 {
		require.True(t, allow(t, l, "ann"))
	}
	require.False(t, allow(t, l, "ann"))
	require.True(t, allow(t, l, "bob"))
	require.Equal(t, []string{"admitted", "window:ann", "window:bob"}, m.Keys())
	m.CheckGet(t, "admitted", "4")
	hits, err := m.ZMembers("window:ann")
	require.NoError(t, err)
	require.Len(t, hits, 3)
	score, err := m.ZScore("window:ann", hits[0])
	require.NoError(t, err)
	require.Equal(t, float64(start.UnixMicro()), score)
}

func TestTheWindowSlides(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration
		admits bool
	}{
		{"just before its edge", time.Minute - time.Millisecond, false},
		{"at its edge", time.Minute, true},
		{"long after", time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, l := setup(t)
			for range 3 {
				require.True(t, allow(t, l, "ann"))
			}
			require.Equal(t, time.Minute, m.TTL("window:ann"))
			m.FastForward(c.after)
			m.SetTime(start.Add(c.after))
			require.Equal(t, !c.admits, m.Exists("window:ann"))
			require.Equal(t, c.admits, allow(t, l, "ann"))
		})
	}
}

func TestForget(t *testing.T) {
	m, l := setup(t)
	for range 3 {
		require.True(t, allow(t, l, "ann"))
	}
	require.True(t, m.Del("window:ann"))
	require.True(t, allow(t, l, "ann"))
	m.FlushAll()
	require.Empty(t, m.Keys())
	require.NoError(t, m.Set("window:ann", "not a window"))
	_, err := l.Allow(context.Background(), "ann")
	require.ErrorContains(t, err, "WRONGTYPE")
}

func TestWithoutAServer(t *testing.T) {
	m, l := setup(t)
	m.SetError("LOADING Redis is loading the dataset in memory")
	ok, err := l.Allow(context.Background(), "ann")
	require.ErrorContains(t, err, "LOADING")
	require.True(t, ok, "open")
	m.SetError("")
	require.True(t, allow(t, l, "ann"))

	m.Close()
	ok, err = l.Allow(context.Background(), "ann")
	require.Error(t, err)
	require.True(t, ok, "open")
	require.NoError(t, m.Restart())
	require.True(t, allow(t, l, "ann"))
	m.CheckGet(t, "admitted", "2")
}

func TestPassword(t *testing.T) {
	m, l := setup(t)
	m.RequireAuth("secret")
	_, err := l.Allow(context.Background(), "ann")
	require.ErrorContains(t, err, "NOAUTH")
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), Password: "secret", DB: 2})
	defer client.Close()
	l.Client = client
	require.True(t, allow(t, l, "ann"))
	require.Equal(t, "zset", m.DB(2).Type("window:ann"))
	m.Select(2)
	m.CheckGet(t, "admitted", "1")
}
