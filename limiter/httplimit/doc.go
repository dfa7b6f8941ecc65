// Package httplimit puts a rate limit in front of an http.Handler and tells
// clients about it.
//
//	limits := zlimit.New(zlimit.Options{})
//	limit := httplimit.New(httplimit.Options{
//		Backend: inprocess.Backend(limits), // or httplimit.Commands of a Redis client
//		Quota:   httplimit.Quota{Name: "per-address", Limit: 100, Window: time.Minute},
//		OnError: httplimit.FailOpen,
//	})
//	http.ListenAndServe(":8080", limit(mux))
//
// # Who is counted
//
// Unless Options.Key says otherwise, a client is the address that has opened the
// connection: an IPv4 address, or the /64 of an IPv6 address, since whoever has
// one address of a /64 has all of them. ByAddress takes another prefix. Clients
// without an address, such as those of a unix socket, share one quota. Behind a
// proxy every client has the proxy's address: read the header which that proxy,
// and nobody else, writes, and pass its value to AddressKey.
//
// # When the backend fails
//
// Options.OnError has to be chosen: FailOpen lets requests pass unmeasured,
// FailClosed answers 503. Either way Options.Failures counts them, and a line
// goes to Options.Log, at most one a second. A request that its client has given
// up meanwhile goes no further, whatever OnError says: otherwise a client that
// hangs up early would pass FailOpen as often as it likes.
//
// # Headers
//
// Answers carry RateLimit-Policy and RateLimit as
// draft-ietf-httpapi-ratelimit-headers-10 has them (structured fields, RFC
// 9651), and a denied request is answered 429 with Retry-After. Backends count
// in milliseconds; seconds are made of them here only, and always rounded up, so
// that who waits as long as a header says is not too early.
//
// The package needs nothing but the standard library. What decides is behind the
// interface Backend; package inprocess has the one of this process.
package httplimit
