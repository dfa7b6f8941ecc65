package zlimit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/race"
)

// minute is the quota of most tests.
var minute = zlimit.Quota{Limit: 2, Window: time.Minute}

// newLimiter returns a Limiter with a frozen clock.
func newLimiter(t testing.TB) *zlimit.Limiter {
	t.Helper()
	l := zlimit.New(zlimit.Options{})
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	l.Engine().Clock().Freeze()
	return l
}

func TestAllowIsRLAllow(t *testing.T) {
	l := newLimiter(t)
	ctx := context.Background()
	for i, want := range []zlimit.Decision{
		{Allowed: 1, Limit: 2, Remaining: 1, ResetAfter: time.Minute},
		{Allowed: 1, Limit: 2, Remaining: 0, ResetAfter: time.Minute},
		{Allowed: 0, Limit: 2, Remaining: 0, RetryAfter: time.Minute, ResetAfter: time.Minute},
	} {
		got, err := l.Allow(t.Context(), "user:42", minute, 1)
		require.NoError(t, err)
		require.Equal(t, want, got, "call %d", i)
		require.Equal(t, want.Allowed > 0, got.OK())
	}
	held, err := l.Do(ctx, "ZCARD", "user:42")
	require.NoError(t, err)
	require.Equal(t, int64(2), held, "the keys are the same")

	l.Engine().Clock().Advance(59_999)
	d, err := l.Peek(t.Context(), "user:42", minute)
	require.NoError(t, err)
	require.Equal(t, zlimit.Decision{Limit: 2, RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}, d)
	l.Engine().Clock().Advance(1)
	d, err = l.Allow(t.Context(), "user:42", minute, 3)
	require.NoError(t, err)
	require.Equal(t, zlimit.Decision{Limit: 2, Remaining: 2, RetryAfter: zlimit.Never}, d)
}

// A caller that sleeps for Never unchecked must not be back at once, nor in a hundred years.
func TestNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := zlimit.New(zlimit.Options{})
		d, err := l.Allow(t.Context(), "user:42", minute, 3)
		require.NoError(t, err)
		require.NoError(t, l.Close()) // or it would tick for a hundred years
		require.Equal(t, zlimit.Never, d.RetryAfter)
		require.True(t, time.Now().Before(time.Now().Add(d.RetryAfter)))
		timer := time.NewTimer(d.RetryAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
			t.Fatal("it is over")
		case <-time.After(100 * 365 * 24 * time.Hour):
		}
	})
}

// Of several quotas on one key, the strictest decides.
func TestAllowAll(t *testing.T) {
	l := newLimiter(t)
	quotas := []zlimit.Quota{{Limit: 2, Window: time.Second}, {Limit: 3, Window: time.Minute}}
	ask := func() zlimit.Decision {
		d, err := l.AllowAll(t.Context(), "k", 1, quotas...)
		require.NoError(t, err)
		return d
	}
	require.Equal(t, zlimit.Decision{Allowed: 1, Limit: 2, Remaining: 1, ResetAfter: time.Second}, ask())
	require.True(t, ask().OK())
	require.Equal(t, zlimit.Decision{Limit: 2, RetryAfter: time.Second, ResetAfter: time.Second}, ask())
	l.Engine().Clock().Advance(1000)
	require.Equal(t, zlimit.Decision{Allowed: 1, Limit: 3, ResetAfter: time.Minute}, ask())
	require.Equal(t, zlimit.Decision{Limit: 3, RetryAfter: 59 * time.Second, ResetAfter: time.Minute}, ask())
	_, err := l.AllowAll(t.Context(), "k", 1)
	require.EqualError(t, err, "ERR no quota given")
	_, err = l.AllowAll(t.Context(), "k", 1, quotas[0], zlimit.Quota{Limit: 1, Window: 1})
	require.EqualError(t, err, "ERR window is not a whole number of milliseconds")
}

func TestAllowErrors(t *testing.T) {
	l := newLimiter(t)
	_, err := l.Do(context.Background(), "SET", "text", "x")
	require.NoError(t, err)
	for _, c := range []struct {
		name, key string
		quota     zlimit.Quota
		cost      int64
		want      string
	}{
		{"limit", "k", zlimit.Quota{Limit: -1, Window: time.Second}, 1, "ERR limit must not be negative"},
		{"no window", "k", zlimit.Quota{Limit: 1}, 1, "ERR window must be at least 1 millisecond"},
		{
			"negative window", "k",
			zlimit.Quota{Limit: 1, Window: -time.Second},
			1,
			"ERR window must be at least 1 millisecond",
		},
		{
			"window too fine", "k",
			zlimit.Quota{Limit: 1, Window: time.Millisecond + 1},
			1,
			"ERR window is not a whole number of milliseconds",
		},
		{
			"longest window", "k",
			zlimit.Quota{Limit: 1, Window: 1<<63 - 1 - (1<<63-1)%time.Millisecond},
			1,
			"ERR window must be below 100 years",
		},
		{"negative cost", "k", minute, -1, "ERR COST must not be negative"},
		{"type", "text", minute, 1, "WRONGTYPE Operation against a key holding the wrong kind of value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := l.Allow(t.Context(), c.key, c.quota, c.cost)
			var reply zlimit.Error
			require.ErrorAs(t, err, &reply)
			require.Equal(t, c.want, reply.Error())
			require.Equal(t, strings.Fields(c.want)[0], reply.Code())
		})
	}
	n, err := l.Do(context.Background(), "EXISTS", "k")
	require.NoError(t, err)
	require.Equal(t, int64(0), n)
}

// Calls on existing keys, admitted or denied, must not allocate.
func TestAllowDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	l := newLimiter(t)
	clock := l.Engine().Clock()
	key := strings.Repeat("k", 2)
	// Two units are added and two expire: the window does not grow.
	steady := zlimit.Quota{Limit: 100, Window: 100 * time.Millisecond}
	admitted := func() {
		clock.Advance(1)
		if d, err := l.Allow(t.Context(), key, steady, 1); err != nil || !d.OK() {
			t.Fatal(d, err)
		}
	}
	denied := func() {
		if d, err := l.Allow(t.Context(), "full", minute, 1); err != nil || d.OK() {
			t.Fatal(d, err)
		}
	}
	_, err := l.Allow(t.Context(), "full", minute, 2)
	require.NoError(t, err)
	for range 20_000 { // warm up every pooled session
		admitted()
		denied()
	}
	require.Zero(t, testing.AllocsPerRun(2000, denied))
	// Advancing the clock allocates; that is the test's.
	require.LessOrEqual(t, testing.AllocsPerRun(2000, admitted), 1.0)
	l.Engine().Clock().Resume()
	wide := zlimit.Quota{Limit: 1000, Window: 10 * time.Millisecond}
	require.Zero(t, testing.AllocsPerRun(2000, func() { _, _ = l.Allow(t.Context(), key, wide, 1) }))
}

// Of many callers exactly the limit is admitted.
func TestAllowConcurrently(t *testing.T) {
	l := newLimiter(t)
	const callers, calls, limit = 16, 50, 333
	var admitted [callers]int64
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			for range calls {
				d, err := l.Allow(t.Context(), "shared", zlimit.Quota{Limit: limit, Window: time.Minute}, 1)
				if err != nil {
					t.Error(err)
				}
				admitted[i] += d.Allowed
			}
		})
	}
	wait.Wait()
	var sum int64
	for _, n := range admitted {
		sum += n
	}
	require.Equal(t, int64(limit), sum)
}

func TestDoConvertsTypes(t *testing.T) {
	l := newLimiter(t)
	ctx := context.Background()
	s := l.Session()
	defer s.Close()
	for _, c := range []struct {
		args []any
		want any
	}{
		{[]any{"SET", "k", 12, "PX", 90 * time.Second}, "OK"},
		{[]any{"GET", []byte("k")}, "12"},
		{[]any{"PTTL", "k"}, int64(90_000)},
		{[]any{"GET", "nosuch"}, nil},
		{
			[]any{"ZADD", "z", 1.5, "a", int64(2), "b", int32(3), "c", uint64(4), "d", true, "e", false, "f"},
			int64(6),
		},
		{[]any{"ZRANGE", "z", 0, -1}, []any{"f", "e", "a", "b", "c", "d"}},
		{[]any{"ZSCORE", "z", "a"}, "1.5"},
		{[]any{"HSET", "h", "f", "v"}, int64(1)},
		{[]any{"HGETALL", "h"}, []any{"f", "v"}},
		{[]any{"EVAL", "return {1,{'a'},false}", 0}, []any{int64(1), []any{"a"}, nil}},
		{[]any{"MULTI"}, "OK"},
		{[]any{"INCR", "k"}, "QUEUED"},
		{[]any{"LPUSH", "k", "x"}, "QUEUED"},
		{
			[]any{"EXEC"},
			[]any{
				int64(13),
				zlimit.Error("WRONGTYPE Operation against a key holding the wrong kind of value"),
			},
		},
		{[]any{"SELECT", 1}, "OK"},
		{[]any{"EXISTS", "k"}, int64(0)},
		{[]any{"SELECT", 0}, "OK"},
		{[]any{"CLIENT", "REPLY", "SKIP"}, nil},
		{[]any{"PING"}, nil},
	} {
		got, err := s.Do(ctx, c.args...)
		require.NoError(t, err, "%v", c.args)
		require.Equal(t, c.want, got, "%v", c.args)
	}
	hello, err := s.Do(ctx, "HELLO", 3)
	require.NoError(t, err)
	require.Equal(t, int64(3), hello.(map[any]any)["proto"])
	score, err := s.Do(ctx, "ZSCORE", "z", "a")
	require.NoError(t, err)
	require.Equal(t, 1.5, score)
	fields, err := s.Do(ctx, "HGETALL", "h")
	require.NoError(t, err)
	require.Equal(t, map[any]any{"f": "v"}, fields)

	_, err = l.Do(ctx)
	require.Error(t, err)
	_, err = l.Do(ctx, "SET", "k", struct{}{})
	require.ErrorContains(t, err, "argument 2")
	_, err = l.Do(ctx, "SET", "k", "v", "PX", time.Microsecond)
	require.ErrorContains(t, err, "argument 4")
	_, err = l.Do(ctx, "NOSUCH")
	var reply zlimit.Error
	require.ErrorAs(t, err, &reply)
	require.Equal(t, "ERR", reply.Code())
	_, err = l.Do(ctx, "SHUTDOWN")
	require.ErrorContains(t, err, "nobody owns this process")
}

// In-process sessions are authenticated.
func TestOwnSessionsNeedNoPassword(t *testing.T) {
	l := newLimiter(t)
	ctx := context.Background()
	before := l.Session()
	defer before.Close()
	_, err := l.Do(ctx, "CONFIG", "SET", "requirepass", "secret")
	require.NoError(t, err)
	after := l.Session()
	defer after.Close()
	for _, s := range []*zlimit.Session{before, after} {
		_, err = s.Do(ctx, "GET", "k")
		require.NoError(t, err)
		_, err = s.Do(ctx, "RESET")
		require.NoError(t, err)
		_, err = s.Do(ctx, "GET", "k")
		require.NoError(t, err)
	}
	_, err = l.Allow(t.Context(), "k", minute, 1)
	require.NoError(t, err)
}

// TestBlockedDo runs in a synctest bubble, so that timeouts take no time.
func TestBlockedDo(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(ctx context.Context, cancel func(), l *zlimit.Limiter)
		want any
		err  error
	}{
		{
			"served",
			func(ctx context.Context, _ func(), l *zlimit.Limiter) { _, _ = l.Do(ctx, "LPUSH", "q", "x") },
			[]any{"q", "x"},
			nil,
		},
		{"its own timeout", func(context.Context, func(), *zlimit.Limiter) {}, nil, nil},
		{
			"ctx", func(_ context.Context, cancel func(), _ *zlimit.Limiter) { cancel() }, nil,
			context.Canceled,
		},
		{
			"Close", func(_ context.Context, _ func(), l *zlimit.Limiter) { _ = l.Close() }, nil,
			zlimit.ErrClosed,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := zlimit.New(zlimit.Options{})
				defer l.Close()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				type answer struct {
					reply any
					err   error
				}
				answered := make(chan answer)
				go func() {
					reply, err := l.Do(ctx, "BLPOP", "q", 30)
					answered <- answer{reply, err}
				}()
				synctest.Wait()
				go c.end(ctx, cancel, l)
				got := <-answered
				require.ErrorIs(t, got.err, c.err)
				require.Equal(t, c.want, got.reply)
				synctest.Wait()
			})
		})
	}
}

// A call with WAIT waits in the order of arrival, until there is room, ctx is done or the Limiter is closed.
func TestWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := zlimit.New(zlimit.Options{})
		defer l.Close()
		start := time.Now()
		replies := make(chan string, 5)
		wait := func(ctx context.Context, name string) {
			go func() {
				reply, err := l.Do(ctx, "RL.ALLOW", "k", 1, time.Second, "WAIT", time.Hour)
				replies <- fmt.Sprint(name, " ", reply, " ", err, " ", time.Since(start))
			}()
			synctest.Wait()
		}
		waiting := func() (n string) {
			info, err := l.Do(t.Context(), "INFO", "clients")
			require.NoError(t, err)
			_, n, _ = strings.Cut(info.(string), "rl_waiting_calls:")
			n, _, _ = strings.Cut(n, "\r")
			return n
		}
		impatient, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		wait(t.Context(), "a")
		require.Equal(t, "a [1 1 0 0 1000 0] <nil> 0s", <-replies)
		wait(t.Context(), "b")
		wait(impatient, "c")
		wait(t.Context(), "d")
		wait(t.Context(), "e")
		require.Equal(t, "4", waiting())
		require.Equal(t, "b [1 1 0 0 1000 1000] <nil> 1s", <-replies)
		require.Equal(t, "c <nil> context deadline exceeded 1.5s", <-replies)
		require.Equal(t, "d [1 1 0 0 1000 2000] <nil> 2s", <-replies)
		require.Equal(t, "1", waiting())
		require.NoError(t, l.Close())
		require.Equal(t, "e <nil> zlimit: closed 2s", <-replies)
	})
}

// Calls during Close succeed or return ErrClosed, and no goroutine remains.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine remains
		l := zlimit.New(zlimit.Options{})
		s := l.Session()
		for range 8 {
			go func() {
				for {
					if _, err := l.Allow(context.Background(), "k", minute, 1); err != nil {
						if !errors.Is(err, zlimit.ErrClosed) {
							t.Error(err)
						}
						return
					}
					runtime.Gosched()
				}
			}()
			go func() { _ = l.Close() }()
		}
		require.NoError(t, l.Close())
		_, err := l.Allow(t.Context(), "k", minute, 1)
		require.ErrorIs(t, err, zlimit.ErrClosed)
		_, err = l.Do(context.Background(), "PING")
		require.ErrorIs(t, err, zlimit.ErrClosed)
		_, err = s.Do(context.Background(), "PING")
		require.ErrorIs(t, err, zlimit.ErrClosed)
		s.Close()
		l.Session().Close()
		require.Zero(t, l.Engine().Sessions())
	})
}

// A Limiter ticks, so that expired keys are reclaimed without being accessed.
func TestTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := zlimit.New(zlimit.Options{})
		defer l.Close()
		for i := range 100 {
			_, err := l.Allow(t.Context(), fmt.Sprint("user:", i), minute, 1)
			require.NoError(t, err)
		}
		n, err := l.Do(context.Background(), "DBSIZE")
		require.NoError(t, err)
		require.Equal(t, int64(100), n)
		time.Sleep(61 * time.Second) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		n, err = l.Do(context.Background(), "DBSIZE")
		require.NoError(t, err)
		require.Equal(t, int64(0), n)
	})
}

func BenchmarkAllow(b *testing.B) {
	l := zlimit.New(zlimit.Options{})
	defer l.Close()
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprint("user:", i)
	}
	q := zlimit.Quota{Limit: 1000, Window: time.Second}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.Allow(context.Background(), keys[i%len(keys)], q, 1)
		i++
	}
}

// TestAllowUnderAFullPrefix tests what a program sees of rl-max-keys-per-prefix.
func TestAllowUnderAFullPrefix(t *testing.T) {
	l := newLimiter(t)
	ctx := t.Context()
	_, err := l.Do(ctx, "CONFIG", "SET", "rl-max-keys-per-prefix", "tenant: 1")
	require.NoError(t, err)
	for _, key := range []string{"tenant:a", "tenant:a", "b", "c"} {
		_, err := l.Allow(ctx, key, minute, 1)
		require.NoError(t, err, key)
	}
	var refusal zlimit.Error
	_, err = l.AllowAll(ctx, "tenant:b", 1, minute, zlimit.Quota{Limit: 9, Window: time.Hour})
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "LIMITKEYS", refusal.Code())
	d, err := l.Peek(ctx, "tenant:b", minute)
	require.NoError(t, err)
	require.True(t, d.OK(), "nothing was taken")
}
