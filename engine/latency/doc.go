// Package latency keeps samples of what took long and shows them, for LATENCY. See
// docs/adr/0036.
//
// It measures nothing and reads no clock.
//
// This package is internal to zlimit: it may change in any release.
package latency
