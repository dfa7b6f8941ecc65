// Package upstream forwards calls to an engine beyond this process: a cluster, the master that
// sentinels name, or a single server, of Redis, Valkey or zlimit.
//
// A node has one queue for each protocol and database (lane.go). Whatever waits in it is written as
// one pipeline, so the calls of many callers share a round trip; the queue is bounded, and a circuit
// breaker answers for a node that does not. topology.go knows which node has which slot, run.go
// brings calls to their nodes and follows redirections. Calls that hold a connection, such as BLPOP
// and WATCH, get one of their own (own.go).
//
// The package knows nothing of sessions and their sockets. Package engine decides what is asked,
// and keeps all that surrounds a call: users, transactions that are being queued, statistics.
//
// This package is internal to zlimit: it may change in any release.
package upstream
