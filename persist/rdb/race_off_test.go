//go:build !race

package rdb_test

const raceDetector = false
