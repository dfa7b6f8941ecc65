//go:build race

package zlimit_test

// raceEnabled: the race detector allocates where the code does not.
const raceEnabled = true
