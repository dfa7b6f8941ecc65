//go:build !race

package aof_test

const raceEnabled = false
