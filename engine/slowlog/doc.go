// Package slowlog keeps the latest calls that took long, for SLOWLOG. See docs/adr/0036.
//
// It measures nothing and reads no clock.
//
// This package is internal to zlimit: it may change in any release.
package slowlog
