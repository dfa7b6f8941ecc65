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
//
// It is a closed loop, in which a connection sends its next batch when the last one is
// answered, or paced: batches are due at a fixed rate, whatever the server does. A paced
// batch that finds no free connection waits, and its latency counts from when it was due.
// A closed loop would hide a server's pauses by sending less meanwhile.
type load struct {
	address     string
	flow        flow
	pipeline    int
	connections int
	keys        *picker
	quota       quota

	duration  time.Duration // no new batch after this; 0 is unlimited
	flows     int64         // no new batch after so many flows; 0 is unlimited
	perSecond float64       // batches that are due; 0: a closed loop

	// fromMs, if not 0, replaces the wall clock in the requests: the first batch has it
	// and each further one a millisecond more. The checks use it, so that their answers
	// do not depend on the machine's speed.
	fromMs int64
	// less is subtracted from each latency: how long the server is asked to wait.
	less time.Duration
	// sink, if not nil, is a replica that is read between the requests.
	sink *sink
	// during, if not nil, is called between the requests with the time since the start.
	during func(now time.Duration) (phase, error)
}

// A phase says what becomes of the replies to a load.
type phase uint8

const (
	counted phase = iota
	ignored       // they are checked, but their latencies are not recorded
	over          // the same, and the load ends
)

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
