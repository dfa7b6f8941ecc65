package httplimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// Options are the parameters of New.
type Options struct {
	// Backend decides. It is required.
	Backend Backend

	// Key returns the key of a request. A request with an empty key is not limited. Nil: ByAddress(64).
	Key func(*http.Request) string

	// Quota is the quota of every request, unless QuotaFor is set.
	Quota Quota
	// QuotaFor returns the quota of a request, or false if it is not limited. Nil: Quota. A limit of 0 denies
	// the request, and so does a quota that is invalid. Requests with the same key and different quotas share
	// their units; to prevent that, put the quota's name into the key.
	QuotaFor func(*http.Request) (Quota, bool)

	// OnError handles a request for which the backend failed: FailOpen, FailClosed, or the program's own
	// function. It is required. It is not called for a request that the client has canceled, nor for one
	// whose quota is invalid.
	OnError func(w http.ResponseWriter, r *http.Request, err error, next http.Handler)
	// Failures, if not nil, counts the requests passed to OnError.
	Failures *atomic.Int64
	// Log gets a line with their number and the last error, at most once a second, and another about requests
	// that are denied because their quota is invalid. Nil: slog's default.
	Log *slog.Logger

	// Denied answers a denied request; the headers are already set. Nil: status 429 and a line of text.
	Denied http.Handler

	// Legacy adds X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset; Reset is in seconds from now.
	Legacy bool
}

// New returns the middleware, which may be used by any number of handlers concurrently. It panics if Backend
// or OnError is nil. Unless there is a QuotaFor, it panics if no request could be admitted: if Quota is
// invalid, costs more than its limit, or is refused by a Backend that is a Checker.
func New(o Options) func(http.Handler) http.Handler {
	if o.Backend == nil {
		panic("httplimit: no Backend")
	}
	if o.OnError == nil {
		panic("httplimit: no OnError; FailOpen and FailClosed are two")
	}
	if o.QuotaFor == nil {
		if err := o.Quota.checkFixed(o.Backend); err != nil {
			panic(err.Error())
		}
		always := o.Quota
		o.QuotaFor = func(*http.Request) (Quota, bool) { return always, true }
	}
	if o.Key == nil {
		o.Key = ByAddress(64)
	}
	if o.Denied == nil {
		o.Denied = http.HandlerFunc(tooMany)
	}
	m := &middleware{
		Options:  o,
		failures: failures{line: failedLine, total: o.Failures, log: o.Log, now: time.Now},
		invalid:  failures{line: invalidLine, log: o.Log, now: time.Now},
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

// middleware has Options without nil fields, and what went wrong so far.
type middleware struct {
	Options
	failures failures // requests that the backend did not decide
	invalid  failures // requests whose quota is invalid
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	quota, measured := m.QuotaFor(r)
	key := ""
	if measured {
		key = m.Key(r)
	}
	if key == "" {
		next.ServeHTTP(w, r)
		return
	}
	d, err := m.decide(r.Context(), key, quota)
	switch {
	case err == nil:
		writeHeaders(w.Header(), quota, d, m.Legacy)
	case refusesQuota(err): // it is not for headers either
		m.invalid.add(r.Context(), quota.name(), err)
	default:
		m.failed(w, r, quota, err, next)
		return
	}
	if d.Allowed {
		next.ServeHTTP(w, r)
		return
	}
	m.Denied.ServeHTTP(w, r)
}

// decide asks the backend, unless the quota says enough. A Decision beside an error denies.
func (m *middleware) decide(ctx context.Context, key string, q Quota) (d Decision, err error) {
	if err := q.check(); err != nil {
		return Decision{}, err
	}
	if q.Limit == 0 {
		return Decision{RetryAfter: Never}, nil
	}
	q.Cost = max(q.Cost, 1)
	if d, err = m.Backend.Allow(ctx, key, q); err != nil {
		return Decision{}, err
	}
	return d, nil
}

// failed answers a request for which the backend failed.
func (m *middleware) failed(w http.ResponseWriter, r *http.Request, q Quota, err error, next http.Handler) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		FailClosed(w, r, err, next) // nobody reads the response
		return
	}
	m.failures.add(r.Context(), q.name(), err)
	m.OnError(w, r, err, next)
}

func tooMany(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "too many requests", http.StatusTooManyRequests)
}
