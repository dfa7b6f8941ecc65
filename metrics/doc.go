// Package metrics serves an engine's figures to Prometheus: over HTTP, at /metrics,
// on a separate listener.
//
// Values of labels never come from clients. Labels name algorithms, kinds of values
// and commands of the table, so that the number of series is bounded; keys and
// error codes are not among them.
//
// This package is internal to zlimit: it may change in any release.
package metrics
