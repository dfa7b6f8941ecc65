// Package httplimit is rate-limiting middleware for an http.Handler.
//
//	limits := zlimit.New(zlimit.Options{})
//	limit := httplimit.New(httplimit.Options{
//		Backend: inprocess.Backend(limits), // or httplimit.Commands of a Redis client
//		Quota:   httplimit.Quota{Name: "per-address", Limit: 100, Window: time.Minute},
//		OnError: httplimit.FailOpen,
//	})
//	http.ListenAndServe(":8080", limit(mux))
//
// # Keys
//
// By default a client is identified by the address that opened the connection: an IPv4 address, or the /64 of
// an IPv6 address, because a client with one address of a /64 usually has all of them. ByAddress sets another
// prefix length. Clients without an address, such as those of a unix socket, share one quota. Behind a proxy
// every client has the proxy's address: read the header that the proxy writes, and that clients cannot set,
// and pass its value to AddressKey.
//
// # Quotas
//
// A quota that no request can satisfy, or that is invalid, is refused where it is given: New panics. One that
// QuotaFor computes denies: Limit 0 by design, for a blocked plan, with the headers of a denial but no time
// to wait; a cost above the limit without Retry-After; an invalid quota (a negative limit, a window of 1.5 ms
// or of a hundred years, a name that is not printable ASCII) without RateLimit fields and with a line in the
// log. Requests that are not limited are those for which QuotaFor returns false, or Key an empty key.
//
// # Backend failures
//
// Options.OnError is required. It is for a backend that is away, or for a key with as many entries as
// rl-log-max-units allows, never for a quota: FailOpen lets requests pass unlimited, FailClosed answers 503.
// Both are counted in Options.Failures and logged to Options.Log, at most once a second. A request that the
// client has canceled never passes, whatever OnError is: otherwise a client could get past FailOpen by
// closing connections early.
//
// # Headers
//
// Responses have RateLimit-Policy and RateLimit as in draft-ietf-httpapi-ratelimit-headers-10 (structured
// fields, RFC 9651). A denied request gets status 429 and Retry-After. Backends count in milliseconds. Only
// the headers have seconds, always rounded up, so that a client that waits as long as a header says is not
// too early.
//
// The package depends on the standard library only. The Backend interface decides; package inprocess has the
// one for this process.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package httplimit
