//go:build race

package scripting

const raceEnabled = true
