package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
	"github.com/zlimit/zlimit/zlimittest"
)

// invalid are quotas of which no request can be decided.
var invalid = map[string]httplimit.Quota{
	"nothing at all":    {},
	"no limit":          {Window: time.Minute},
	"limit below 0":     {Limit: -1, Window: time.Minute},
	"smallest limit":    {Limit: math.MinInt64, Window: time.Minute},
	"limit of 10^15":    {Limit: 1_000_000_000_000_000, Window: time.Minute},
	"largest limit":     {Limit: math.MaxInt64, Window: time.Minute},
	"no window":         {Limit: 1},
	"window below 0":    {Limit: 1, Window: -time.Second},
	"window of 1.5 ms":  {Limit: 1, Window: 1500 * time.Microsecond},
	"window of 1 ns":    {Limit: 1, Window: 1},
	"a name with ü":     {Name: "für-alle", Limit: 1, Window: time.Minute},
	"a name with lines": {Name: "pro\r\nX: y", Limit: 1, Window: time.Minute},
	"a name with DEL":   {Name: "pro\x7f", Limit: 1, Window: time.Minute},
	"cost below 0":      {Limit: 1, Window: time.Minute, Cost: -1},
}

// beyond are quotas that zlimit cannot decide, but another backend might.
var beyond = map[string]httplimit.Quota{
	"a hundred years": {Limit: 1, Window: time.Duration(limiter.MaxWindowMs) * time.Millisecond},
}

// backends are the ways to zlimit.
func backends(srv *zlimittest.Server) map[string]httplimit.Backend {
	return map[string]httplimit.Backend{
		"commands": httplimit.Commands(srv.Inner().Do), "typed": inprocess.Backend(srv.Inner().Limiter()),
	}
}

func failTest(t *testing.T) func(http.ResponseWriter, *http.Request, error, http.Handler) {
	return func(_ http.ResponseWriter, _ *http.Request, err error, _ http.Handler) {
		require.NoError(t, err, "OnError is for a backend that does not decide")
	}
}

// A quota that is computed and cannot be decided denies, whatever OnError is, and is logged.
func TestComputedInvalidQuotas(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	for backend, b := range backends(srv) {
		for _, quotas := range []map[string]httplimit.Quota{invalid, beyond} {
			for name, quota := range quotas {
				if quota.Limit == 0 {
					continue
				}
				t.Run(backend+" "+name, func(t *testing.T) {
					var count atomic.Int64
					var lines bytes.Buffer
					h := httplimit.New(httplimit.Options{
						Backend:  b,
						QuotaFor: func(*http.Request) (httplimit.Quota, bool) { return quota, true },
						OnError:  httplimit.FailOpen, Failures: &count, Log: logTo(&lines), Legacy: true,
					})(hello)
					w := get(h, nil)
					require.Equal(t, "429 too many requests\n", fmt.Sprint(w.Code, " ", w.Body))
					for name := range w.Header() {
						require.NotContains(t, strings.ToLower(name), "limit", "it would not be true")
						require.NotEqual(t, "Retry-After", name)
					}
					require.Zero(t, count.Load())
					require.Contains(t, lines.String(), "requests are denied because their quota is invalid")
					require.Contains(t, lines.String(), "requests=1")
				})
			}
		}
	}
	require.Equal(t, int64(0), srv.Do("DBSIZE"))
}

// A computed limit of 0 denies everything without asking the backend.
func TestComputedLimitOfZero(t *testing.T) {
	for name, c := range map[string]struct {
		quota         httplimit.Quota
		policy, limit string
	}{
		"a blocked plan": {
			httplimit.Quota{Name: "free", Window: time.Minute}, `"free";q=0;w=60`, `"free";r=0`,
		},
		"of any cost": {
			httplimit.Quota{Name: "free", Window: time.Minute, Cost: 7}, `"free";q=0;w=60`, `"free";r=0`,
		},
		"without a window": {httplimit.Quota{Name: "free"}, `"free";q=0`, `"free";r=0`},
		"window below 0":   {httplimit.Quota{Window: -1}, `"default";q=0`, `"default";r=0`},
		"nothing at all":   {httplimit.Quota{}, `"default";q=0`, `"default";r=0`},
	} {
		t.Run(name, func(t *testing.T) {
			var lines bytes.Buffer
			h := httplimit.New(httplimit.Options{
				Backend: httplimit.BackendFunc(func(
					context.Context, string, httplimit.Quota,
				) (httplimit.Decision, error) {
					panic("the backend is asked")
				}),
				QuotaFor: func(*http.Request) (httplimit.Quota, bool) { return c.quota, true },
				OnError:  failTest(t), Log: logTo(&lines), Legacy: true,
			})(hello)
			w := get(h, nil)
			require.Equal(t, "429 too many requests\n", fmt.Sprint(w.Code, " ", w.Body))
			require.Equal(t, c.policy, w.Header().Get("RateLimit-Policy"))
			require.Equal(t, c.limit, w.Header().Get("RateLimit"))
			require.Equal(t, "0", w.Header().Get("X-RateLimit-Limit"))
			require.Equal(t, "0", w.Header().Get("X-RateLimit-Remaining"))
			require.Empty(t, w.Header().Get("X-RateLimit-Reset"))
			require.Empty(t, w.Header().Get("Retry-After"))
			require.Empty(t, lines.String(), "this is no mistake")
		})
	}
}

// New refuses what no request could satisfy.
func TestInvalidQuotaIsRefused(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	always := map[string]httplimit.Quota{
		"cost above the limit": {Limit: 5, Window: time.Minute, Cost: 6},
	}
	for _, quotas := range []map[string]httplimit.Quota{invalid, beyond, always} {
		for name, quota := range quotas {
			for backend, b := range backends(srv) {
				t.Run(backend+" "+name, func(t *testing.T) {
					o := httplimit.Options{Backend: b, Quota: quota, OnError: httplimit.FailOpen}
					require.Panics(t, func() { httplimit.New(o) })
				})
			}
		}
	}
	for name, quota := range beyond {
		require.NotPanics(t, func() {
			httplimit.New(httplimit.Options{
				Backend: fixed(httplimit.Decision{}), Quota: quota, OnError: httplimit.FailOpen,
			})
		}, name)
	}
	require.Equal(t, int64(0), srv.Do("DBSIZE"))
	require.NotContains(t, fmt.Sprint(srv.Do("INFO", "limiter")), "limiter_peeked:1")
}

// What a backend says decides: its own words for a quota that it cannot decide deny; other errors, those of
// a server among them, go to OnError.
func TestErrorsOfQuotas(t *testing.T) {
	for text, denied := range map[string]bool{
		"ERR limit must be at most 9007199254740991; use ALGO BUCKETS or ALGO GCRA for more": true,
		"ERR limit must be at most 9007199254740991 over an upstream":                        true,
		"ERR window must be below 100 years":                                                 true,
		"ERR COST must not be negative":                                                      true,
		"ratelimit: ERR limit must not be negative":                                          true,
		"ERR unknown command 'RL.ALLOW', with args beginning with: 'k'":                      false,
		"ERR max number of clients reached":                                                  false,
		"ERR the server's clock is outside the range of a log":                               false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                  false,
		"OOM command not allowed when used memory > 'maxmemory'.":                            false,
		"LIMITKEYS prefix 't:' has reached its limit of 5 keys":                              false,
		"UPSTREAM 10.0.0.1:6379: it did not answer in time (upstream-timeout)":               false,
		"NOPERM this user has no permissions to access one of the keys used as arguments":    false,
		"dial tcp 10.0.0.1:6379: connect: connection refused":                                false,
	} {
		w := get(httplimit.New(httplimit.Options{
			Backend: failing(errors.New(text)), Quota: httplimit.Quota{Limit: 1, Window: time.Second},
			OnError: httplimit.FailOpen, Log: logTo(new(bytes.Buffer)),
		})(hello), nil)
		require.Equal(t, denied, w.Code == http.StatusTooManyRequests, text)
	}
	own := fmt.Errorf("%w: more than this plan has", httplimit.ErrQuota)
	h := httplimit.New(httplimit.Options{
		Backend: failing(own), Quota: httplimit.Quota{Limit: 1, Window: time.Second},
		OnError: failTest(t), Log: logTo(new(bytes.Buffer)),
	})(hello)
	require.Equal(t, 429, get(h, nil).Code)
}

// Commands.Check is what a server says with its defaults, at the bounds and beside them.
func TestBoundsOfCommands(t *testing.T) {
	const century = time.Duration(limiter.MaxWindowMs) * time.Millisecond
	var commands httplimit.Commands
	windows := []time.Duration{
		time.Millisecond, 16777 * time.Millisecond, time.Hour, century - time.Millisecond, century,
	}
	limits := []int64{1, 1001, 1 << 40, 999_999_999_999_999}
	for _, window := range windows {
		for _, limit := range limits {
			for _, cost := range []int64{0, 1, 1_000_001} {
				q := httplimit.Quota{Limit: limit, Window: window, Cost: cost}
				if cost > limit {
					continue // New refuses it
				}
				want := limiter.Validate([]limiter.Quota{{Limit: limit, WindowMs: window.Milliseconds()}},
					limiter.Call{Cost: cost})
				if err := commands.Check(q); want == nil {
					require.NoError(t, err, "%+v", q)
				} else {
					require.ErrorIs(t, err, httplimit.ErrQuota, "%+v: %v", q, want)
				}
			}
		}
	}
}

// What a Checker says of anything but the quota does not keep a program from starting.
func TestCheckOfOtherThings(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	require.Equal(t, "OK", srv.Do("SET", "", "text"))
	backend := inprocess.Backend(srv.Inner().Limiter())
	o := httplimit.Options{
		Backend: backend, OnError: failTest(t), Quota: httplimit.Quota{Limit: 1, Window: time.Second},
	}
	require.NotPanics(t, func() { httplimit.New(o) })
	require.NoError(t, srv.Inner().Limiter().Close())
	require.NotPanics(t, func() { httplimit.New(o) })
}
