//go:build !race

package zlimit_test

const raceEnabled = false
