// Package stats counts what INFO and metrics show of an engine: commands, errors,
// latencies, decisions of the limiter, traffic, and what the keyspace holds.
//
// Sessions add to it from many goroutines. Counters that every command adds to are
// spread over several cache lines; most are added to once for a batch.
//
// This package is internal to zlimit: it may change in any release.
package stats
