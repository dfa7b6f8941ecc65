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
