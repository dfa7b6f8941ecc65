package main

import (
	"errors"
	"time"
)

const (
	// patience is how long a server may leave a batch unanswered.
	patience = time.Minute
	// awayFrom is more than it takes to serve every connection once.
	awayFrom = time.Millisecond
)

var (
	errNoAnswer = errors.New("no answer in time")
	errHungUp   = errors.New("the server closed the connection")
)

// A load describes what the client sends and when it stops. It stops by itself:
// one of duration and flows must be set.
type load struct {
	address     string
	flow        flow
	pipeline    int
	connections int
	keys        *picker
	quota       quota

	duration time.Duration // no new batch after this; 0 is no bound
	flows    int64         // no new batch after so many flows were sent; 0 is no bound

	// fromMs, when not 0, replaces the wall clock in the requests: the first
	// batch carries it and each further one a millisecond more. The checks use
	// it, so that their answers do not depend on the machine's speed.
	fromMs int64
}

// A tally is what came of a load.
type tally struct {
	// flows answered and time passed until the first bound was reached. The
	// batches then under way are answered and checked, but not counted here.
	flows   int64
	elapsed time.Duration
	// all is every flow that was answered, those included, and whole the time
	// until the last one.
	all   int64
	whole time.Duration

	admitted, denied int64 // verdicts among all
	// away is the time in which a paced client, which never sleeps, was not let
	// run, in stretches of awayFrom and more, and longestAway the longest one:
	// what the machine, or the one that it is a guest of, does to everybody.
	away, longestAway time.Duration
	// latency of a whole batch, from its first byte handed to the kernel to its
	// last reply read. A flow of several steps counts once, with all its trips.
	latency histogram
}

// turned counts a turn of a paced client: one look at its connections.
func (t *tally) turned(took time.Duration) {
	if took >= awayFrom {
		t.away += took
		t.longestAway = max(t.longestAway, took)
	}
}

// reached says whether a bound stops new batches.
func (l *load) reached(elapsed time.Duration, sent int64) bool {
	return l.duration > 0 && elapsed >= l.duration || l.flows > 0 && sent >= l.flows
}
