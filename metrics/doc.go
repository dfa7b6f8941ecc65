// Package metrics shows an engine's figures to Prometheus: over HTTP, at
// /metrics, on a listener of its own.
//
// No label's value is ever a client's choice. Labels name algorithms, kinds of
// values and commands of the table, so that the number of series is bounded
// whatever clients send; keys and error codes are not among them.
//
// This package is internal to zlimit: it may change in any release.
package metrics
