// Package rls speaks Envoy's rate limit service, version 3, over gRPC. It is an HTTP/2 server with three
// methods: ShouldRateLimit, and Check and Watch of grpc.health.v1, where Watch is unimplemented as the
// protocol permits.
//
// A connection's goroutine reads many frames with one read, decides the requests in them one after another,
// and writes all responses with one write. If decisions may wait (Options.Waits), each has a goroutine, and
// the reading goes on. docs/adr/0059 has the reasons and the bounds.
//
// The package follows RFC 9113 (HTTP/2), RFC 7541 (HPACK) and gRPC's PROTOCOL-HTTP2. It is no general HTTP
// server: it sends no PUSH_PROMISE, ignores priorities, and never uses the dynamic table for what it sends.
//
// This package is internal to zlimit: it may change in any release.
package rls
