package main

import (
	"errors"
	"time"
)

const (
	// ioTimeout is how long a server may take to answer.
	ioTimeout = time.Minute
	// minPause is longer than serving every connection once.
	minPause = time.Millisecond
)

var (
	errNoAnswer = errors.New("no answer in time")
	errHungUp   = errors.New("the server closed the connection")
)

// A load describes what the client sends and when it stops. One of duration and flows
// must be set.
type load struct {
	address     string
	flow        flow
	pipeline    int
	connections int
	keys        *picker
	quota       quota

	duration time.Duration // no new batch after this; 0 is unlimited
	flows    int64         // no new batch after so many flows; 0 is unlimited

	// fromMs, if not 0, replaces the wall clock in the requests: the first batch has it
	// and each further one a millisecond more. The checks use it, so that their answers
	// do not depend on the machine's speed.
	fromMs int64

	// sink, if not nil, is a replica that is read between the requests.
	sink *sink
	// copied ends a paced load when the sink has its copy, and counts what was answered from when the copy
	// began.
	copied bool
	// job, if not nil, begins with a paced load and ends it.
	job *job
}

// A tally is the result of a load.
type tally struct {
	// flows answered and time passed until the first bound was reached. Batches then
	// under way are answered and checked, but not counted here.
	flows   int64
	elapsed time.Duration
	// all counts every answered flow, including those, and whole is the time until the
	// last one.
	all   int64
	whole time.Duration

	admitted, denied int64 // decisions among all
	// paused is the time in which a paced client, which never sleeps, was not scheduled,
	// in stretches of at least minPause. longestPause is the longest stretch. The
	// machine or its host does this to every process.
	paused, longestPause time.Duration
	// latency is of a whole batch, from the first byte passed to the kernel to the last
	// reply read. A flow of several steps counts once, with all its round trips.
	latency histogram
}

// turned records a turn of a paced client: one pass over its connections.
func (t *tally) turned(took time.Duration) {
	if took >= minPause {
		t.paused += took
		t.longestPause = max(t.longestPause, took)
	}
}

// add adds a later part of the same round.
func (t *tally) add(u *tally) {
	t.flows += u.flows
	t.elapsed += u.elapsed
	t.all += u.all
	t.whole += u.whole
	t.admitted += u.admitted
	t.denied += u.denied
	t.paused += u.paused
	t.longestPause = max(t.longestPause, u.longestPause)
	t.latency.add(&u.latency)
}

// reached reports whether a bound stops new batches.
func (l *load) reached(elapsed time.Duration, sent int64) bool {
	return l.duration > 0 && elapsed >= l.duration || l.flows > 0 && sent >= l.flows
}
