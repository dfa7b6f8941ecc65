// Package info writes the sections of INFO from facts that the engine fills in.
//
// It has Redis' fields in Redis' order, and ours; where they differ from Redis 7.0, differences.go
// says why.
//
// This package is internal to zlimit: it may change in any release.
package info
