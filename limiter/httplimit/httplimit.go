// Package httplimit puts a rate limit in front of an http.Handler and tells
// clients about it.
//
//	limits := zlimit.New(zlimit.Options{}) // or a Redis client of zlimit-server
//	limit := httplimit.New(httplimit.Options{
//		Backend: httplimit.Commands(limits.Do),
//		Quota:   httplimit.Quota{Name: "per-user", Limit: 100, Window: time.Minute},
//	})
//	http.ListenAndServe(":8080", limit(mux))
//
// Answers carry RateLimit-Policy and RateLimit as
// draft-ietf-httpapi-ratelimit-headers-10 has them (structured fields, RFC
// 9651), and a denied request is answered 429 with Retry-After. Backends count
// in milliseconds; seconds are made of them here only, and always rounded up, so
// that who waits as long as a header says is not too early.
//
// The package needs net/http and nothing else. What decides is behind the
// interface Backend.
package httplimit

import (
	"net"
	"net/http"
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

// Options are what a middleware is made of.
type Options struct {
	// Backend decides. It is required.
	Backend Backend

	// Key says whose quota a request takes from; the empty key takes from
	// nobody's, and the request passes. Nil: RemoteAddr's address without its
	// port. Behind a proxy that is the proxy's: then Key must read the header
	// which that proxy, and nobody else, writes.
	Key func(*http.Request) string

	// Quota is every request's, unless QuotaFor is set.
	Quota Quota
	// QuotaFor gives each request a quota; false lets it pass unmeasured. Nil:
	// Quota. Requests with one key and different quotas share what was admitted,
	// so put the quota's name into the key where they shall not.
	QuotaFor func(*http.Request) (Quota, bool)

	// OnError is what becomes of a request when the backend does not decide.
	// Nil: FailOpen.
	OnError func(w http.ResponseWriter, r *http.Request, err error, next http.Handler)

	// Denied answers a request that was denied, with the headers already in
	// place. Nil: status 429 and a line of text.
	Denied http.Handler

	// Legacy adds X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset; Reset is in seconds from now.
	Legacy bool
}

// New returns the middleware. It panics where there is no backend, or where
// Quota cannot be one and QuotaFor is nil: that is a mistake in the program. The
// middleware may be used by any number of handlers at once.
func New(o Options) func(http.Handler) http.Handler {
	if o.Backend == nil {
		panic("httplimit: no Backend")
	}
	if o.QuotaFor == nil {
		if err := o.Quota.check(); err != nil {
			panic(err.Error())
		}
		always := o.Quota
		o.QuotaFor = func(*http.Request) (Quota, bool) { return always, true }
	}
	if o.Key == nil {
		o.Key = RemoteHost
	}
	if o.OnError == nil {
		o.OnError = FailOpen
	}
	if o.Denied == nil {
		o.Denied = http.HandlerFunc(tooMany)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.serve(w, r, next) })
	}
}

func (o *Options) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	quota, measured := o.QuotaFor(r)
	key := ""
	if measured {
		key = o.Key(r)
	}
	if key == "" {
		next.ServeHTTP(w, r)
		return
	}
	quota.Cost = max(quota.Cost, 1)
	err := quota.check()
	var d Decision
	if err == nil {
		d, err = o.Backend.Allow(r.Context(), key, quota)
	}
	if err != nil {
		o.OnError(w, r, err, next)
		return
	}
	writeHeaders(w.Header(), quota, d, o.Legacy)
	if d.Allowed {
		next.ServeHTTP(w, r)
		return
	}
	o.Denied.ServeHTTP(w, r)
}

// FailOpen lets a request pass that the backend did not decide about: better
// unlimited than down.
func FailOpen(w http.ResponseWriter, r *http.Request, _ error, next http.Handler) {
	next.ServeHTTP(w, r)
}

// FailClosed answers 503 to a request that the backend did not decide about:
// better down than unlimited. The error is not told to the client.
func FailClosed(w http.ResponseWriter, _ *http.Request, _ error, _ http.Handler) {
	http.Error(w, "the rate limit cannot be checked", http.StatusServiceUnavailable)
}

// RemoteHost is the address of who opened the connection, without the port.
func RemoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func tooMany(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "too many requests", http.StatusTooManyRequests)
}
