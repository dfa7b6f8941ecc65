package main

import (
	"slices"
	"strconv"
)

// A difference is a hit on which the servers disagree. A side without the hit is empty.
type difference struct {
	number       int // of the hit in its flow, from 1
	ours, theirs string
}

// compare compares two runs of a flow hit by hit. Everything must be equal, except that
// a remaining time may differ by one second if both sides have one: the servers' clocks
// differ during the runs.
func compare(ours, theirs []hit) []difference {
	var differences []difference
	for i := range max(len(ours), len(theirs)) {
		d := difference{number: i + 1}
		if i < len(ours) {
			d.ours = ours[i].String()
		}
		if i < len(theirs) {
			d.theirs = theirs[i].String()
		}
		if i >= len(ours) || i >= len(theirs) || !sameHit(ours[i], theirs[i]) {
			differences = append(differences, d)
		}
	}
	return differences
}

func sameHit(a, b hit) bool {
	return a.instant == b.instant && a.decision == b.decision &&
		slices.EqualFunc(a.fields, b.fields, sameField)
}

func sameField(a, b field) bool {
	if a == b {
		return true
	}
	return a.name == b.name && slices.Contains(secondsToCome, a.name) && withinSecond(a.value, b.value)
}

// secondsToCome are the times until a key's expiry, a window's end and the next call
// that may be allowed.
var secondsToCome = []string{"ttl", "reset", "retry"}

// withinSecond allows no difference from -1 (none) and -2 (no key): those are states,
// not seconds.
func withinSecond(a, b string) bool {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX != nil || errY != nil || x < 0 || y < 0 {
		return false
	}
	return x-y == 1 || y-x == 1
}
