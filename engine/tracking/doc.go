// Package tracking has the keys that clients have read and the invalidations that they receive when
// those change: CLIENT TRACKING. See docs/adr/0026.
//
// A State is that of an engine, a Client that of a session. Both know sessions only as subscribers of
// package pubsub.
//
// This package is internal to zlimit: it may change in any release.
package tracking
