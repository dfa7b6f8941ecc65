package embed_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/embed/window"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/zlimittest"
)

// doer sends RL.ALLOW and other commands through a client.
type doer = httplimit.Commands

// overGoRedis returns a doer on go-redis, over TCP or in memory.
func overGoRedis(t *testing.T, srv *zlimittest.Server, o goredis.Options) doer {
	t.Helper()
	if o.Dialer == nil {
		o.Addr = srv.Addr()
	}
	client := goredis.NewClient(&o)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() }
}

// overRedigo returns a doer on a pool of redigo.
func overRedigo(t *testing.T, dial func() (redis.Conn, error)) doer {
	t.Helper()
	pool := &redis.Pool{Dial: dial, MaxIdle: 2}
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return func(ctx context.Context, args ...any) (any, error) {
		c, err := pool.GetContext(ctx)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return redis.DoContext(c, ctx, args[0].(string), args[1:]...)
	}
}

// clients returns every kind of doer, on one server.
func clients(t *testing.T, srv *zlimittest.Server) map[string]doer {
	return map[string]doer{
		"go-redis, RESP3":     overGoRedis(t, srv, goredis.Options{}),
		"go-redis, RESP2":     overGoRedis(t, srv, goredis.Options{Protocol: 2}),
		"go-redis, in memory": overGoRedis(t, srv, goredis.Options{Dialer: srv.DialContext}),
		"redigo": overRedigo(t, func() (redis.Conn, error) {
			return redis.Dial("tcp", srv.Addr())
		}),
		"redigo, in memory": overRedigo(t, func() (redis.Conn, error) {
			c, err := srv.Dial()
			if err != nil {
				return nil, err
			}
			return redis.NewConn(c, time.Minute, time.Minute), nil
		}),
		"in process": srv.Inner().Do,
	}
}

// TestWindowEdge tests, through every client, the limit, one millisecond before the window's edge, and the
// edge.
func TestWindowEdge(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	for name, do := range clients(t, srv) {
		t.Run(name, func(t *testing.T) {
			srv.Do("FLUSHALL")
			allow := func() (allowed bool) {
				d, err := do.Allow(context.Background(), "user:42",
					httplimit.Quota{Limit: 3, Window: time.Minute, Cost: 1})
				require.NoError(t, err)
				return d.Allowed
			}
			require.Equal(t, []bool{true, true, true, false}, []bool{allow(), allow(), allow(), allow()})
			srv.Key("user:42").RequireUnits(3)
			srv.Key("user:42").RequireTTL(time.Minute)
			srv.Advance(time.Minute - time.Millisecond)
			require.False(t, allow())
			srv.Advance(time.Millisecond)
			require.True(t, allow())
		})
	}
}

// TestManyCallers checks that concurrent callers of all clients are admitted exactly up to the limit.
func TestManyCallers(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	var admitted sync.Map
	var wait sync.WaitGroup
	for name, do := range clients(t, srv) {
		for caller := range 4 {
			wait.Go(func() {
				for call := range 20 {
					d, err := do.Allow(context.Background(), "shared",
						httplimit.Quota{Limit: 100, Window: time.Minute, Cost: 1})
					if err != nil {
						t.Error(name, err)
					}
					if d.Allowed {
						admitted.Store([3]any{name, caller, call}, nil)
					}
				}
			})
		}
	}
	wait.Wait()
	count := 0
	admitted.Range(func(any, any) bool { count++; return true })
	require.Equal(t, 100, count)
}

// TestFaultsThroughClients tests what a program sees of each fault, with retries disabled, and whether its
// hit counted.
func TestFaultsThroughClients(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault zlimittest.Fault
		err   string
		held  int64
	}{
		{"loading", zlimittest.Fault{Kind: zlimittest.Loading}, "LOADING", 0},
		{"full", zlimittest.Fault{Kind: zlimittest.OutOfMemory}, "OOM", 0},
		{"replica", zlimittest.Fault{Kind: zlimittest.ReadOnly}, "READONLY", 0},
		{"close", zlimittest.Fault{Kind: zlimittest.Close}, "EOF", 0},
		{"reply lost", zlimittest.Fault{Kind: zlimittest.DropReply}, "EOF", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
			for name, do := range map[string]doer{
				"go-redis": overGoRedis(t, srv, goredis.Options{MaxRetries: -1}),
				"redigo": overRedigo(t, func() (redis.Conn, error) {
					return redis.Dial("tcp", srv.Addr())
				}),
			} {
				srv.Do("FLUSHALL")
				fault := srv.Inject(c.fault)
				_, err := do(context.Background(), "RL.ALLOW", "user:42", 3, "1m")
				require.ErrorContains(t, err, c.err, name)
				require.Equal(t, 1, fault.Hits())
				srv.Key("user:42").RequireUnits(c.held)
				_, err = do(context.Background(), "RL.ALLOW", "user:42", 3, "1m")
				require.NoError(t, err, name)
				srv.Key("user:42").RequireUnits(c.held + 1)
			}
		})
	}
}

// TestScriptsAreSentAgain tests a script that the server does not have.
func TestScriptsAreSentAgain(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	client := goredis.NewClient(&goredis.Options{Addr: srv.Addr()})
	defer client.Close()
	l := &window.Limiter{Client: client, Limit: 2, Window: time.Minute}
	fault := srv.Inject(zlimittest.Fault{Kind: zlimittest.NoScript, Times: 2})
	for _, want := range []bool{true, true, false} {
		got, err := l.Allow(context.Background(), "ann")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, 2, fault.Hits())
}

// TestBubble tests go-redis in a testing/synctest bubble, whose clock its timeouts and the server use.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zlimittest.RunT(t)
		client := goredis.NewClient(&goredis.Options{
			Dialer: srv.DialContext, ReadTimeout: 3 * time.Second, MaxRetries: -1,
		})
		defer client.Close()
		l := &window.Limiter{Client: client, Limit: 1, Window: time.Minute}
		allow := func() bool {
			ok, err := l.Allow(context.Background(), "ann")
			require.NoError(t, err)
			return ok
		}
		require.True(t, allow())
		time.Sleep(time.Minute - time.Millisecond) //nolint:forbidigo // the bubble's clock
		require.False(t, allow())
		time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's clock
		require.True(t, allow())

		srv.Inject(zlimittest.Fault{Kind: zlimittest.Mute})
		begin := time.Now()
		_, err := l.Allow(context.Background(), "ann")
		require.ErrorContains(t, err, "timeout")
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.True(t, strings.HasPrefix(srv.Key("window:ann").Type(), "zset"))
	})
}

// TestClusterClient runs cluster clients against a server that is a cluster of one node.
func TestClusterClient(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Cluster: true, Frozen: true})
	for name, o := range map[string]goredis.ClusterOptions{
		"tcp":       {Addrs: []string{srv.Addr()}},
		"in memory": {Addrs: []string{"any:1"}, Dialer: srv.DialContext},
	} {
		t.Run(name, func(t *testing.T) {
			client := goredis.NewClusterClient(&o)
			defer client.Close()
			ctx := t.Context()
			script := goredis.NewScript(`return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])`)
			err := script.Run(ctx, client, []string{name + ":minute", name + ":day"}).Err()
			require.ErrorContains(t, err, "CROSSSLOT")
			tagged := "{" + name + "}"
			count, err := script.Run(ctx, client, []string{tagged + ":minute", tagged + ":day"}).Int()
			require.NoError(t, err)
			require.Equal(t, 2, count)
			require.NoError(t, client.Set(ctx, name, "x", time.Minute).Err())
			srv.Advance(time.Minute + time.Millisecond)
			require.ErrorIs(t, client.Get(ctx, name).Err(), goredis.Nil)
		})
	}
}
