// Package race tells a test whether the race detector watches it. Only tests import it.
package race

// Fewer is n without the race detector, and a fifth of it under it: for rounds of a test in which one goroutine runs.
// There the detector can find nothing, and a round takes ten times as long.
func Fewer(n int) int {
	if Enabled {
		return (n + 4) / 5
	}
	return n
}
