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
// # Backend failures
//
// Options.OnError is required: FailOpen lets requests pass unlimited, FailClosed answers 503. Both are
// counted in Options.Failures and logged to Options.Log, at most once a second. A request that the client has
// canceled never passes, whatever OnError is: otherwise a client could get past FailOpen by closing
// connections early.
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
