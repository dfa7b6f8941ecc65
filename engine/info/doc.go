// Package info has the figures of an engine, one row each: how a figure is read, the field of INFO and the
// Prometheus metrics that show it, and why it differs from Redis 7.0.
//
// The rows of a section are in Redis' order. INFO, the metrics and the tables of the documentation are made
// from them.
//
// This package is internal to zlimit: it may change in any release.
package info
