// Package race reports whether the race detector is on. Only tests import it.
//
// This package is internal to zlimit: it may change in any release.
package race

import "testing"

// Fewer returns n, or a fifth of it under the race detector, for rounds of a test with
// a single goroutine. There the detector can find nothing, and a round takes ten times
// as long.
func Fewer(n int) int {
	if Enabled {
		return (n + 4) / 5
	}
	return n
}

// OneGoroutine skips a test under the race detector because the test does one thing after the other: there
// the detector can find nothing, and make test runs it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("one goroutine works at a time, so the race detector can find nothing")
	}
}
