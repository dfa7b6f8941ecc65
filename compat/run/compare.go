package main

import (
	"slices"
	"strconv"
)

// A difference is one hit on which the servers disagree. A side that has no such hit is empty.
type difference struct {
	number       int // of the hit in its flow, from 1
	ours, theirs string
}

// compare sets two runs of one flow side by side, hit by hit. Everything must be equal but fields that are a time to
// come, which may differ by one second when both sides have one: the runs happen at different moments of the servers'
// clocks.
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
		if i >= len(ours) || i >= len(theirs) || !alike(ours[i], theirs[i]) {
			differences = append(differences, d)
		}
	}
	return differences
}

func alike(a, b hit) bool {
	return a.instant == b.instant && a.decision == b.decision && slices.EqualFunc(a.fields, b.fields, alikeField)
}

func alikeField(a, b field) bool {
	if a == b {
		return true
	}
	return a.name == b.name && slices.Contains(secondsToCome, a.name) && alikeSeconds(a.value, b.value)
}

// secondsToCome are until a key's end, until a window's end and until the next call that may be allowed.
var secondsToCome = []string{"ttl", "reset", "retry"}

// alikeSeconds leaves no room around -1 (none) and -2 (no key): those are states, not seconds.
func alikeSeconds(a, b string) bool {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX != nil || errY != nil || x < 0 || y < 0 {
		return false
	}
	return x-y == 1 || y-x == 1
}
