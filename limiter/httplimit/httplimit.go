package httplimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// A Quota is the limit that applies to a request, and the request's cost.
type Quota struct {
	// Name is the name of the policy in headers: printable ASCII. Empty: "default".
	Name string
	// Limit is the number of units per window, at least 1.
	Limit int64
	// Window is a whole number of milliseconds.
	Window time.Duration
	// Cost is the number of units of the request; 0 is 1.
	Cost int64
}

// Options are the parameters of New.
type Options struct {
	// Backend decides. It is required.
	Backend Backend

	// Key returns the key of a request. A request with an empty key is not limited. Nil: ByAddress(64).
	Key func(*http.Request) string

	// Quota is the quota of every request, unless QuotaFor is set.
	Quota Quota
	// QuotaFor returns the quota of a request, or false if it is not limited. Nil: Quota. Requests with the
	// same key and different quotas share their units; to prevent that, put the quota's name into the key.
	QuotaFor func(*http.Request) (Quota, bool)

	// OnError handles a request for which the backend failed: FailOpen, FailClosed, or the program's own
	// function. It is required. It is not called for a request that the client has canceled.
	OnError func(w http.ResponseWriter, r *http.Request, err error, next http.Handler)
	// Failures, if not nil, counts the requests passed to OnError.
	Failures *atomic.Int64
	// Log gets a line with their number and the last error, at most once a second. Nil: slog's default.
	Log *slog.Logger

	// Denied answers a denied request; the headers are already set. Nil: status 429 and a line of text.
	Denied http.Handler

	// Legacy adds X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset; Reset is in seconds from now.
	Legacy bool
}

// New returns the middleware, which may be used by any number of handlers concurrently. It panics if Backend
// or OnError is nil, or if Quota is invalid and QuotaFor is nil.
func New(o Options) func(http.Handler) http.Handler {
	if o.Backend == nil {
		panic("httplimit: no Backend")
	}
	if o.OnError == nil {
		panic("httplimit: no OnError; FailOpen and FailClosed are two")
	}
	if o.QuotaFor == nil {
		if err := o.Quota.check(); err != nil {
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
	m := &middleware{Options: o, failures: failures{total: o.Failures, log: o.Log, now: time.Now}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

// middleware has Options without nil fields, and the failures so far.
type middleware struct {
	Options
	failures failures
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
	quota.Cost = max(quota.Cost, 1)
	err := quota.check()
	var d Decision
	if err == nil {
		d, err = m.Backend.Allow(r.Context(), key, quota)
	}
	if err != nil {
		m.failed(w, r, quota, err, next)
		return
	}
	writeHeaders(w.Header(), quota, d, m.Legacy)
	if d.Allowed {
		next.ServeHTTP(w, r)
		return
	}
	m.Denied.ServeHTTP(w, r)
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
