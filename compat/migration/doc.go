// Package migration moves limiters from a running redis-server to zlimit-server, in the
// way of docs/migration.md: zlimit-server follows it as a replica, writes pause, and the
// clients change the address. The clients are the documents' limiters in Go and unmodified
// limiter libraries in Python, Node and Go, which run as programs of compat/libraries and
// decide throughout.
//
// Every client has two keys. The first is a ledger, whose window is longer than the test:
// whatever the machine does meanwhile, exactly its limit may be admitted, before and after
// the move together. One unit that is lost, or a window that begins again, is one unit too
// many. The second has a window of two seconds, which ends again and again; the account of
// it is by the instants between which a call was made.
//
// A control makes the same move without replication and must find all ledgers exceeded.
//
// The tests wait for conditions by asking, up to a deadline.
package migration
