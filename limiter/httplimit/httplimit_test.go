package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
	"github.com/zlimit/zlimit/zlimittest"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

// get sends a request through a middleware.
func get(h http.Handler, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// fixed returns a backend that always answers d.
func fixed(d httplimit.Decision) httplimit.Backend {
	return httplimit.BackendFunc(func(context.Context, string, httplimit.Quota) (httplimit.Decision, error) {
		return d, nil
	})
}

// Headers are compared byte for byte; seconds are rounded up.
func TestHeaders(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name          string
		quota         httplimit.Quota
		d             httplimit.Decision
		policy, limit string
		retry         string
		legacy        string // limit remaining reset
	}{
		{
			"admitted",
			httplimit.Quota{Limit: 100, Window: time.Minute},
			httplimit.Decision{Allowed: true, Remaining: 99, ResetAfter: time.Minute},
			`"default";q=100;w=60`, `"default";r=99;t=60`, "", "100 99 60",
		},
		{
			"rounded up",
			httplimit.Quota{Limit: 5, Window: 1500 * ms},
			httplimit.Decision{Allowed: true, Remaining: 4, ResetAfter: 1001 * ms},
			`"default";q=5;w=2`, `"default";r=4;t=2`, "", "5 4 2",
		},
		{
			"denied",
			httplimit.Quota{Name: "burst", Limit: 5, Window: time.Minute},
			httplimit.Decision{RetryAfter: 8161 * ms, ResetAfter: 9384 * ms},
			`"burst";q=5;w=60`, `"burst";r=0;t=9`, "9", "5 0 9",
		},
		{
			"denied for one millisecond",
			httplimit.Quota{Limit: 5, Window: time.Minute},
			httplimit.Decision{RetryAfter: ms, ResetAfter: time.Minute},
			`"default";q=5;w=60`, `"default";r=0;t=1`, "1", "5 0 1",
		},
		{
			"never",
			httplimit.Quota{Limit: 5, Window: time.Minute, Cost: 6},
			httplimit.Decision{Remaining: 5, RetryAfter: httplimit.Never},
			`"default";q=5;w=60`, `"default";r=5;t=0`, "", "5 5 0",
		},
		{
			"never, in a backend's own words",
			httplimit.Quota{Limit: 5, Window: time.Minute, Cost: 6},
			httplimit.Decision{Remaining: 5, RetryAfter: -ms},
			`"default";q=5;w=60`, `"default";r=5;t=0`, "", "5 5 0",
		},
		{
			"a name to escape",
			httplimit.Quota{Name: `a "b" \c`, Limit: 5, Window: time.Second},
			httplimit.Decision{Allowed: true, Remaining: -3},
			`"a \"b\" \\c";q=5;w=1`, `"a \"b\" \\c";r=0;t=0`, "", "5 0 0",
		},
		{
			"numbers at the end of what a field holds",
			httplimit.Quota{Limit: 999_999_999_999_999, Window: 1<<63 - 1 - (1<<63-1)%ms},
			httplimit.Decision{Allowed: true, Remaining: 1 << 60, ResetAfter: 1<<63 - 1},
			`"default";q=999999999999999;w=2147483647`, `"default";r=999999999999999;t=2147483647`, "",
			"999999999999999 999999999999999 2147483647",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, legacy := range []bool{false, true} {
				h := httplimit.New(httplimit.Options{
					Backend: fixed(c.d), OnError: httplimit.FailClosed, Legacy: legacy,
					QuotaFor: func(*http.Request) (httplimit.Quota, bool) { return c.quota, true },
				})(hello)
				w := get(h, nil)
				require.Equal(t, c.policy, w.Header().Get("RateLimit-Policy"))
				require.Equal(t, c.limit, w.Header().Get("RateLimit"))
				require.Equal(t, c.retry, w.Header().Get("Retry-After"))
				want := "  "
				if legacy {
					want = c.legacy
				}
				require.Equal(t, want,
					w.Header().Get("X-RateLimit-Limit")+" "+w.Header().Get("X-RateLimit-Remaining")+" "+
						w.Header().Get("X-RateLimit-Reset"))
				if c.d.Allowed {
					require.Equal(t, "200 hello", fmt.Sprint(w.Code, " ", w.Body))
				} else {
					require.Equal(t, "429 too many requests\n", fmt.Sprint(w.Code, " ", w.Body))
				}
			}
		})
	}
}

// zlimit in this process and a server behind a connection give the same answers, and waiting for Retry-After
// admits.
func TestBackends(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	for name, backend := range map[string]httplimit.Backend{
		"commands": httplimit.Commands(srv.Inner().Do),
		"typed":    inprocess.Backend(srv.Inner().Limiter()),
	} {
		t.Run(name, func(t *testing.T) {
			srv.Do("FLUSHALL")
			h := httplimit.New(httplimit.Options{
				Backend: backend,
				Quota:   httplimit.Quota{Limit: 2, Window: 10 * time.Second},
				OnError: httplimit.FailClosed,
				Key:     func(r *http.Request) string { return r.Header.Get("User") },
			})(hello)
			as := func(user string) func(*http.Request) {
				return func(r *http.Request) { r.Header.Set("User", user) }
			}
			require.Equal(t, `"default";r=1;t=10`, get(h, as("ann")).Header().Get("RateLimit"))
			srv.Advance(1500 * time.Millisecond)
			require.Equal(t, `"default";r=0;t=10`, get(h, as("ann")).Header().Get("RateLimit"))
			denied := get(h, as("ann"))
			require.Equal(t, 429, denied.Code)
			require.Equal(t, "9", denied.Header().Get("Retry-After")) // 8.5 s
			require.Equal(t, 200, get(h, as("bob")).Code)
			require.Empty(t, get(h, as("")).Header().Get("RateLimit"), "an empty key is not limited")
			srv.Advance(9 * time.Second)
			require.Equal(t, 200, get(h, as("ann")).Code)
			srv.Key("ann").RequireUnits(2)

			d, err := backend.Allow(t.Context(), "ann",
				httplimit.Quota{Limit: 2, Window: time.Second, Cost: 3})
			require.NoError(t, err)
			require.Equal(t, httplimit.Never, d.RetryAfter)

			once := httplimit.Quota{Limit: 1, Window: time.Second} // a cost of 0 is 1
			for _, want := range []bool{true, false} {
				d, err := backend.Allow(t.Context(), "dan", once)
				require.NoError(t, err)
				require.Equal(t, want, d.Allowed)
			}
		})
	}
}

// The middleware uses the functions for key and quota, and the cost.
func TestKeyAndQuotaFunctions(t *testing.T) {
	type call struct {
		key string
		q   httplimit.Quota
	}
	var calls []call
	backend := httplimit.BackendFunc(func(
		_ context.Context, key string, q httplimit.Quota,
	) (httplimit.Decision, error) {
		calls = append(calls, call{key, q})
		return httplimit.Decision{Allowed: true}, nil
	})
	quota := httplimit.Quota{Limit: 2, Window: time.Second}
	plain := httplimit.New(httplimit.Options{
		Backend: backend, Quota: quota, OnError: httplimit.FailClosed,
	})(hello)
	for _, from := range []string{"192.0.2.1:1234", "[2001:db8::1]:80", "@", ""} {
		get(plain, func(r *http.Request) { r.RemoteAddr = from })
	}
	quota.Cost = 1
	require.Equal(t,
		[]call{
			{"192.0.2.1", quota},
			{"2001:db8::/64", quota},
			{httplimit.NoAddress, quota},
			{httplimit.NoAddress, quota},
		}, calls)

	calls = nil
	paid := httplimit.Quota{Name: "paid", Limit: 1000, Window: time.Hour, Cost: 10}
	chosen := httplimit.New(httplimit.Options{
		Backend: backend,
		Key:     func(*http.Request) string { return "k" },
		QuotaFor: func(r *http.Request) (httplimit.Quota, bool) {
			return paid, r.Header.Get("Health-Check") == ""
		},
		OnError: httplimit.FailClosed,
	})(hello)
	get(chosen, nil)
	w := get(chosen, func(r *http.Request) { r.Header.Set("Health-Check", "1") })
	require.Equal(t, "hello", w.Body.String())
	require.Empty(t, w.Header().Get("RateLimit"))
	require.Equal(t, []call{{"k", paid}}, calls)
}

// OnError handles failures of the backend.
func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	failing := httplimit.BackendFunc(func(
		context.Context, string, httplimit.Quota,
	) (httplimit.Decision, error) {
		return httplimit.Decision{}, broken
	})
	quota := httplimit.Quota{Limit: 1, Window: time.Second}
	answer := func(o httplimit.Options) string {
		o.Quota, o.Log = quota, slog.New(slog.DiscardHandler)
		w := get(httplimit.New(o)(hello), nil)
		require.Empty(t, w.Header().Get("RateLimit"))
		return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	}
	require.Equal(t, "200 hello", answer(httplimit.Options{Backend: failing, OnError: httplimit.FailOpen}))
	require.Equal(t, "503 the rate limit cannot be checked",
		answer(httplimit.Options{Backend: failing, OnError: httplimit.FailClosed}))
	var seen error
	require.Equal(t, "418 ",
		answer(httplimit.Options{
			Backend: failing,
			OnError: func(w http.ResponseWriter, _ *http.Request, err error, _ http.Handler) {
				seen = err
				w.WriteHeader(http.StatusTeapot)
			},
		}))
	require.ErrorIs(t, seen, broken)

	// A server other than zlimit may answer these.
	for _, reply := range []any{nil, "OK", []any{}, []any{int64(1), int64(2), int64(3), int64(4), "5"}} {
		odd := httplimit.Commands(func(context.Context, ...any) (any, error) { return reply, nil })
		require.Equal(t, "503 the rate limit cannot be checked",
			answer(httplimit.Options{Backend: odd, OnError: httplimit.FailClosed}), "%v", reply)
	}

	denied := httplimit.New(httplimit.Options{
		Backend: fixed(httplimit.Decision{RetryAfter: time.Second}),
		Quota:   quota, OnError: httplimit.FailOpen,
		Denied: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		}),
	})(hello)
	w := get(denied, nil)
	require.Equal(t, 418, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
}

// Invalid options panic in New.
func TestInvalidOptions(t *testing.T) {
	ok := httplimit.Quota{Limit: 1, Window: time.Second}
	require.PanicsWithValue(t, "httplimit: no OnError; FailOpen and FailClosed are two", func() {
		httplimit.New(httplimit.Options{Backend: fixed(httplimit.Decision{}), Quota: ok})
	})
	require.PanicsWithValue(t, "httplimit: no Backend", func() {
		httplimit.New(httplimit.Options{Quota: ok, OnError: httplimit.FailOpen})
	})
	const noLimit = "httplimit: invalid quota: Limit is not from 1 to 999,999,999,999,999"
	require.PanicsWithValue(t, noLimit, func() {
		httplimit.New(httplimit.Options{Backend: fixed(httplimit.Decision{}), OnError: httplimit.FailOpen})
	})
}

// Two middlewares each add their item to the headers.
func TestTwoLimits(t *testing.T) {
	limit := func(name string) func(http.Handler) http.Handler {
		return httplimit.New(httplimit.Options{
			Backend: fixed(httplimit.Decision{Allowed: true, Remaining: 1}),
			Quota:   httplimit.Quota{Name: name, Limit: 2, Window: time.Second},
			OnError: httplimit.FailOpen,
		})
	}
	w := get(limit("a")(limit("b")(hello)), nil)
	require.Equal(t, []string{`"a";q=2;w=1`, `"b";q=2;w=1`}, w.Header().Values("RateLimit-Policy"))
	require.Equal(t, []string{`"a";r=1;t=0`, `"b";r=1;t=0`}, w.Header().Values("RateLimit"))
}

// Exactly the limit of concurrent requests passes.
func TestConcurrentRequests(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	h := httplimit.New(httplimit.Options{
		Backend: httplimit.Commands(srv.Inner().Do),
		Quota:   httplimit.Quota{Limit: 50, Window: time.Minute}, OnError: httplimit.FailClosed,
	})(hello)
	codes := make(chan int, 200)
	var wait sync.WaitGroup
	for range cap(codes) {
		wait.Go(func() { codes <- get(h, nil).Code })
	}
	wait.Wait()
	close(codes)
	counts := map[int]int{}
	for c := range codes {
		counts[c]++
	}
	require.Equal(t, map[int]int{200: 50, 429: 150}, counts)
}
