package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
)

// One request a minute for each address, decided in this process.
func ExampleNew() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	limits.Engine().Clock().Freeze() // for the example's sake: time stands still

	limit := httplimit.New(httplimit.Options{
		Backend: inprocess.Backend(limits),
		Quota:   httplimit.Quota{Name: "per-address", Limit: 1, Window: time.Minute},
		OnError: httplimit.FailClosed,
	})
	handler := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello")
	}))

	for range 2 {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(answer.Code)
		for _, name := range []string{"RateLimit-Policy", "RateLimit", "Retry-After"} {
			fmt.Printf("  %s: %s.\n", name, answer.Header().Get(name))
		}
	}
	// Output:
	// 200
	//   RateLimit-Policy: "per-address";q=1;w=60.
	//   RateLimit: "per-address";r=0;t=60.
	//   Retry-After: .
	// 429
	//   RateLimit-Policy: "per-address";q=1;w=60.
	//   RateLimit: "per-address";r=0;t=60.
	//   Retry-After: 60.
}

// Several processes share a limit through a server: Commands sends RL.ALLOW with any Redis client. With
// go-redis it is
//
//	httplimit.Commands(func(ctx context.Context, args ...any) (any, error) {
//		return client.Do(ctx, args...).Result()
//	})
func ExampleCommands() {
	limits := zlimit.New(zlimit.Options{}) // in the place of a client
	defer limits.Close()
	limits.Engine().Clock().Freeze()

	backend := httplimit.Commands(func(ctx context.Context, args ...any) (any, error) {
		fmt.Println(args...)
		return limits.Do(ctx, args...)
	})
	quota := httplimit.Quota{Limit: 1, Window: time.Minute}
	for range 2 {
		d, err := backend.Allow(context.Background(), "192.0.2.1", quota)
		fmt.Println(d.Allowed, d.RetryAfter, err)
	}
	// Output:
	// RL.ALLOW 192.0.2.1 1 60000 COST 1
	// true 0s <nil>
	// RL.ALLOW 192.0.2.1 1 60000 COST 1
	// false 1m0s <nil>
}

// Clients are identified by a header that the proxy in front of this server writes. Requests for which the
// backend fails are counted, logged and refused.
func ExampleAddressKey() {
	var failures atomic.Int64
	limit := httplimit.New(httplimit.Options{
		Backend: httplimit.BackendFunc(func(
			_ context.Context, key string, _ httplimit.Quota,
		) (httplimit.Decision, error) {
			fmt.Println(key)
			return httplimit.Decision{}, errors.New("no server")
		}),
		Key:      func(r *http.Request) string { return httplimit.AddressKey(r.Header.Get("X-Real-IP"), 56) },
		Quota:    httplimit.Quota{Limit: 100, Window: time.Minute},
		OnError:  httplimit.FailClosed,
		Failures: &failures,
		Log:      slog.New(slog.DiscardHandler),
	})
	handler := limit(http.NotFoundHandler())

	for _, from := range []string{"192.0.2.1", "2001:db8:0:12ff::1", ""} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Real-IP", from)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	fmt.Println("failures:", failures.Load())
	// Output:
	// 192.0.2.1
	// 2001:db8:0:1200::/56
	// no-address
	// failures: 3
}

// Each plan has its own quota. A plan that is blocked has a limit of 0, which denies. A plan whose limit was
// computed wrongly is denied too, and logged, although the backend's failures would let requests pass.
func ExampleOptions_quotaFor() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	limits.Engine().Clock().Freeze() // for the example's sake: time stands still
	plans := map[string]httplimit.Quota{
		"paid":    {Name: "paid", Limit: 1000, Window: time.Minute},
		"blocked": {Name: "blocked", Limit: 0, Window: time.Minute},
		"broken":  {Name: "broken", Limit: 10 - 11, Window: time.Minute},
	}
	handler := httplimit.New(httplimit.Options{
		Backend: inprocess.Backend(limits),
		QuotaFor: func(r *http.Request) (httplimit.Quota, bool) {
			return plans[r.URL.Query().Get("plan")], true
		},
		OnError: httplimit.FailOpen,
		Log:     slog.New(slog.DiscardHandler),
	})(http.NotFoundHandler())

	for _, plan := range []string{"paid", "blocked", "broken", "unknown"} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?plan="+plan, http.NoBody))
		fmt.Printf("%s: %d [%s]\n", plan, answer.Code, answer.Header().Get("RateLimit"))
	}
	// Output:
	// paid: 404 ["paid";r=999;t=60]
	// blocked: 429 ["blocked";r=0]
	// broken: 429 []
	// unknown: 429 ["default";r=0]
}
