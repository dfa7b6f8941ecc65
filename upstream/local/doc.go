// Package local is what a gateway may answer by itself about keys that an upstream has: denials
// until the time that they name, and units that it has taken in advance. It has no clock and no
// connection: an instant is an argument, in microseconds of a clock that only moves forwards.
//
// This package is internal to zlimit: it may change in any release.
package local
