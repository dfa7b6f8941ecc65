package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/zlimit/zlimit/engine"
)

// This file is what the process asks of Go's collector: docs/adr/0021.

// GOGC, unless the operator sets it. Commands on warm keys leave no garbage, so
// what a large heap may grow by between collections is seldom used, and a small
// share of it costs little: leastPercent. A small heap may grow by headroom, or
// scripts that do leave garbage would have it collected all the time.
const (
	leastPercent = 50
	mostPercent  = 400
	headroom     = 32 << 20 // bytes
)

// percent is GOGC for a heap of which so many bytes are live.
func percent(live uint64) int {
	p := mostPercent
	for p > leastPercent && live*uint64(p)/100 > headroom {
		p /= 2
	}
	return p
}

// tuneCollector sets what the environment does not: GOGC, and GOMEMLIMIT to
// nine tenths of what the machine or the container has.
func tuneCollector() {
	if ownPercent() {
		debug.SetGCPercent(mostPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if all := machineMemory(os.DirFS("/")); all > 0 {
			debug.SetMemoryLimit(all / 10 * 9)
		}
	}
}

// ownPercent reports whether GOGC is ours to set.
func ownPercent() bool { return os.Getenv("GOGC") == "" }

// giveBack looks at the process once a second until done: lets a keeper do so,
// and fits GOGC to the heap.
func giveBack(e *engine.Engine, done <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	k := keeper{sinceAsk: busyPause} // it may say yes at once
	set := mostPercent
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		now := state{
			objects: samples[0].Value.Uint64(), free: samples[1].Value.Uint64(), live: samples[2].Value.Uint64(),
			collections: samples[3].Value.Uint64(), commands: e.Commands(), keys: k.last.keys,
			held: uint64(e.MemoryUse().Keyspace.Used),
		}
		if keys, ok := e.Keys(); ok {
			now.keys = keys
		}
		if p := percent(now.live); p != set && ownPercent() {
			set = p
			debug.SetGCPercent(p)
		}
		if k.due(now) {
			debug.FreeOSMemory()
		}
	}
}

// state is what a keeper looks at; memory is in bytes.
type state struct {
	objects     uint64 // in the heap, those that nobody holds any more included
	live        uint64 // what the last collection left
	free        uint64 // held from the system for nothing
	held        uint64 // keys and values
	keys        int    // how many, now
	collections uint64 // so far
	commands    int64  // so far
}

// A keeper decides when memory goes back to the system: Go collects when the
// heap has grown by a share of itself, or two minutes have passed, and returns
// what it freed slowly, so that a server whose keys have expired, and that makes
// no garbage, would keep all of it. It is asked once a second.
type keeper struct {
	last     state
	most     uint64 // held at most since the last collection
	mostKeys int    // likewise
	sinceAsk int    // seconds since it last said yes
}

const (
	worthwhile    = 8 << 20 // bytes; less is nobody's concern
	quietCommands = 1000    // a second: a collection disturbs few
	quietPause    = 5       // seconds between two at such times
	busyPause     = 30      // and at others
)

// due reports whether to collect now and give back what is free.
func (k *keeper) due(s state) bool {
	if s.collections != k.last.collections {
		k.most, k.mostKeys = s.held, s.keys
	}
	k.most, k.mostKeys = max(k.most, s.held), max(k.mostKeys, s.keys)
	k.sinceAsk++
	quiet := s.commands-k.last.commands <= quietCommands
	k.last = s
	dropped := min(k.most-s.held, s.objects)
	if gone := k.mostKeys - s.keys; gone > 0 { // keys are much alike: with half of them goes half of the heap
		dropped = max(dropped, uint64(float64(s.objects)*float64(gone)/float64(k.mostKeys)))
	}
	yes := false
	if quiet {
		// Whatever a collection would bring, and what the one before brought.
		spare := dropped + s.free + (max(s.objects, s.live) - s.live)
		yes = spare >= max(worthwhile, s.objects/8) && k.sinceAsk > quietPause
	} else {
		// Only where most of the heap has been let go: it is soon marked.
		yes = dropped >= max(worthwhile, s.objects/2) && k.sinceAsk > busyPause
	}
	if yes {
		k.most, k.mostKeys, k.sinceAsk = s.held, s.keys, 0
	}
	return yes
}
