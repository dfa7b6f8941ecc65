package httplimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// A Quota is what a request is measured by.
type Quota struct {
	// Name is what headers call the policy: printable ASCII. Empty: "default".
	Name string
	// Limit is how many units the window takes, at least 1.
	Limit int64
	// Window is a whole number of milliseconds.
	Window time.Duration
	// Cost is how many units the request takes; 0 is 1.
	Cost int64
}

// Options are the parameters of New.
type Options struct {
	// Backend decides. It is required.
	Backend Backend

	// Key says whose quota a request takes from; the empty key takes from
	// nobody's, and the request passes. Nil: ByAddress(64).
	Key func(*http.Request) string

	// Quota is every request's, unless QuotaFor is set.
	Quota Quota
	// QuotaFor gives each request a quota; false lets it pass unmeasured. Nil:
	// Quota. Requests with one key and different quotas share what was admitted,
	// so put the quota's name into the key where they shall not.
	QuotaFor func(*http.Request) (Quota, bool)

	// OnError is what becomes of a request about which the backend does not
	// decide: FailOpen, FailClosed, or a function of the program's. It is required,
	// and it is not called for a request that its client has given up.
	OnError func(w http.ResponseWriter, r *http.Request, err error, next http.Handler)
	// Failures, if it is not nil, counts the requests that OnError gets.
	Failures *atomic.Int64
	// Log gets a line about them, with their number and the last error, at most
	// one a second. Nil: slog's default.
	Log *slog.Logger

	// Denied answers a request that was denied, with the headers already in
	// place. Nil: status 429 and a line of text.
	Denied http.Handler

	// Legacy adds X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset; Reset is in seconds from now.
	Legacy bool
}

// New returns the middleware. It panics where Backend or OnError is nil, or where
// Quota cannot be one and QuotaFor is nil: that is a mistake in the program. The
// middleware may be used by any number of handlers at once.
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
	m := &middleware{Options: o, failures: failures{total: o.Failures, log: o.Log}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

// A middleware is Options that are whole, and what failed so far.
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

// failed is for a request about which the backend did not decide.
func (m *middleware) failed(w http.ResponseWriter, r *http.Request, q Quota, err error, next http.Handler) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		FailClosed(w, r, err, next) // nobody reads it
		return
	}
	m.failures.add(r.Context(), q.name(), err)
	m.OnError(w, r, err, next)
}

func tooMany(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "too many requests", http.StatusTooManyRequests)
}
