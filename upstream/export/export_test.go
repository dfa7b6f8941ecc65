package export

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/upstream"
	"github.com/zlimit/zlimit/zlimittest"
)

// open returns the address of a server, and a client of it.
func open(t *testing.T) (upstream.Address, *redis.Client) {
	t.Helper()
	s := zlimittest.RunWith(t, zlimittest.Options{Directives: []string{"--enable-debug-command", "yes"}})
	a, err := upstream.ParseURL("redis://" + s.Addr())
	require.NoError(t, err)
	c := redis.NewClient(&redis.Options{
		Addr: s.Addr(), Protocol: 2, MaxRetries: -1, ReadTimeout: replyTimeout,
	})
	t.Cleanup(func() { _ = c.Close() })
	return a, c
}

// fill writes a key of each kind that limiters use.
func fill(t *testing.T, c *redis.Client) {
	t.Helper()
	ctx := t.Context()
	for _, words := range [][]any{
		{"SET", "string", "value", "PX", 3_600_000},
		{"SET", "forever", "value"},
		{"HSET", "hash", "field", "1"},
		{"RPUSH", "list", "a", "b"},
		{"SADD", "set", "1", "2", "three"},
		{"ZADD", "zset", "1.5", "a", "2", "b"},
		{"RL.ALLOW", "log", 10, "1h", "COST", 3},
		{"RL.ALLOW", "fixed", 10, "1h", "ALGO", "FIXED"},
		{"RL.ALLOW", "gcra", 10, "1h", "ALGO", "GCRA", 5},
		{"RL.ALLOW", "buckets", 10, "1h", "ALGO", "BUCKETS", 6},
		{"RL.ALLOW", "counter", 10, "1h", "ALGO", "COUNTER"},
		{"RL.RESERVE", "hold", 10, "1h", 2, "HOLD", "1m", "ID", "one"},
		{"FUNCTION", "LOAD", "#!lua name=mine\nredis.register_function('f', function() return 1 end)"},
	} {
		require.NoError(t, c.Do(ctx, words...).Err(), words)
	}
}

// requireSame requires that both servers have the same keys and values.
func requireSame(t *testing.T, source, destination *redis.Client) {
	t.Helper()
	want, err := source.Do(t.Context(), "DEBUG", "DIGEST").Text()
	require.NoError(t, err)
	got, err := destination.Do(t.Context(), "DEBUG", "DIGEST").Text()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestRun: everything has moved with the instants at which it ends, and the source refuses writes until it
// is told otherwise.
func TestRun(t *testing.T) {
	from, source := open(t)
	to, destination := open(t)
	fill(t, source)
	ctx := t.Context()
	report, err := Run(ctx, Options{From: from, To: to, Log: func(text string) { t.Log(text) }})
	require.NoError(t, err)
	keys, err := source.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, report.Keys)
	for _, key := range keys {
		want, err := source.Do(ctx, "PEXPIRETIME", key).Result()
		require.NoError(t, err)
		got, err := destination.Do(ctx, "PEXPIRETIME", key).Result()
		require.NoError(t, err)
		require.Equal(t, want, got, key)
	}
	requireSame(t, source, destination)
	require.NoError(t, destination.Do(ctx, "FCALL", "f", 0).Err())
	require.ErrorContains(t, source.Set(ctx, "late", 1, 0).Err(), "NOREPLICAS")
	require.Contains(t, report.Unfence, "CONFIG SET min-replicas-to-write 0 min-replicas-max-lag 10")
	require.NoError(t, source.Do(ctx, "CONFIG", "SET", "min-replicas-to-write", 0).Err())
	require.NoError(t, source.Set(ctx, "late", 1, 0).Err())
}

// TestRefusals: a move that cannot be made changes nothing.
func TestRefusals(t *testing.T) {
	from, source := open(t)
	to, destination := open(t)
	ctx := t.Context()
	require.NoError(t, source.Set(ctx, "key", 1, 0).Err())
	require.NoError(t, destination.Set(ctx, "other", 1, 0).Err())
	o := Options{From: from, To: to, Log: func(string) {}}
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, errNotEmpty)
	o.Replace = true
	_, err = Run(ctx, o)
	require.NoError(t, err)
	require.NoError(t, source.Do(ctx, "CONFIG", "SET", "min-replicas-to-write", 0).Err())

	second := source.Conn()
	defer second.Close()
	require.NoError(t, second.Select(ctx, 1).Err())
	require.NoError(t, second.Set(ctx, "key", 1, 0).Err())
	_, err = Run(ctx, o)
	require.ErrorIs(t, err, errDatabases)
	require.NoError(t, second.Set(ctx, "key", 1, 0).Err())

	o.From.Seeds = []string{"127.0.0.1:1"}
	_, err = Run(ctx, o)
	require.ErrorContains(t, err, "connection refused")
}

// TestWrites: keys that are written, deleted, and given deadlines while they are copied are the same on both
// sides in the end, and every write that the source has acknowledged is at the destination.
func TestWrites(t *testing.T) {
	from, source := open(t)
	to, destination := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	filling := source.Pipeline()
	idle := 20_000
	if race.Enabled {
		idle = 2_000 // some ten times slower
	}
	for i := range idle {
		filling.Set(ctx, "idle:"+strconv.Itoa(i), i, time.Hour)
	}
	_, err := filling.Exec(ctx)
	require.NoError(t, err)

	const writers = 8
	acknowledged := make([]int, writers)
	refusals := make([]error, writers)
	var running, begun sync.WaitGroup
	for w := range writers {
		begun.Add(1)
		running.Go(func() {
			for n := 1; refusals[w] == nil; n++ {
				p := source.TxPipeline()
				p.Set(ctx, fmt.Sprint("written:", w), n, 0)
				p.Set(ctx, fmt.Sprintf("written:%d:%d", w, n%100), n, time.Duration(n)*time.Minute)
				p.Del(ctx, fmt.Sprintf("written:%d:%d", w, (n+50)%100))
				if _, refusals[w] = p.Exec(ctx); refusals[w] == nil {
					acknowledged[w] = n
				}
				if n == 100 {
					begun.Done()
				}
			}
		})
	}
	begun.Wait()
	report, err := Run(ctx, Options{From: from, To: to, Log: func(text string) { t.Log(text) }})
	require.NoError(t, err)
	running.Wait()
	t.Logf("%+v", report)
	for w := range writers {
		require.ErrorContains(t, refusals[w], "EXECABORT") // of NOREPLICAS
		got, err := destination.Get(ctx, fmt.Sprint("written:", w)).Int()
		require.NoError(t, err)
		require.Equal(t, acknowledged[w], got)
	}
	require.Positive(t, report.Again)
	requireSame(t, source, destination)
}

// TestEmptied: a source that is emptied while it is copied is not moved, and accepts writes afterwards.
func TestEmptied(t *testing.T) {
	from, source := open(t)
	to, _ := open(t)
	ctx := t.Context()
	require.NoError(t, source.Set(ctx, "key", 1, 0).Err())
	emptied := false
	_, err := Run(ctx, Options{From: from, To: to, Log: func(string) {
		if !emptied {
			emptied = true
			require.NoError(t, source.FlushAll(ctx).Err())
		}
	}})
	require.ErrorIs(t, err, errEmptied)
	require.NoError(t, source.Set(ctx, "key", 1, 0).Err())
}
