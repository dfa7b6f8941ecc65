package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/zlimit/zlimit/engine"
)

// This file tunes Go's garbage collector: see docs/adr/0021.

// Bounds of GOGC, unless the operator sets it. Commands on warm keys leave no garbage,
// so a large heap seldom uses its growth between collections, and a small share of it
// suffices: leastPercent. A small heap may grow by headroom, because scripts that leave
// garbage would otherwise trigger constant collections.
const (
	leastPercent = 50
	mostPercent  = 400
	headroom     = 32 << 20 // bytes
)

// percent returns GOGC for a heap with so many live bytes.
func percent(live uint64) int {
	p := mostPercent
	for p > leastPercent && live*uint64(p)/100 > headroom {
		p /= 2
	}
	return p
}

// tuneCollector sets GOGC, and GOMEMLIMIT to nine tenths of the memory of the machine
// or container, unless the environment sets them.
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

// ownPercent reports whether GOGC is unset in the environment.
func ownPercent() bool { return os.Getenv("GOGC") == "" }

// giveBack runs once a second until done: it lets a keeper return memory and adapts
// GOGC to the heap.
func giveBack(e *engine.Engine, done <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	k := keeper{sinceAsk: busyPause} // it may return memory at once
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

// state is a keeper's input; memory is in bytes.
type state struct {
	objects     uint64 // in the heap, including unreachable ones
	live        uint64 // after the last collection
	free        uint64 // obtained from the system and unused
	held        uint64 // keys and values
	keys        int    // current number
	collections uint64 // so far
	commands    int64  // so far
}

// A keeper decides when to return memory to the system. Go collects only when the heap
// has grown by a share of itself or two minutes have passed, and returns freed memory
// slowly. A server whose keys have expired and that makes no garbage would keep all of
// it. due is called once a second.
type keeper struct {
	last     state
	most     uint64 // maximum of held since the last collection
	mostKeys int    // maximum of keys, likewise
	sinceAsk int    // seconds since due last returned true
}

const (
	worthwhile    = 8 << 20 // bytes; smaller amounts are ignored
	quietCommands = 1000    // a second: a collection disturbs few clients
	quietPause    = 5       // seconds between collections at such times
	busyPause     = 30      // and otherwise
)

// due reports whether to collect now and return free memory.
func (k *keeper) due(s state) bool {
	if s.collections != k.last.collections {
		k.most, k.mostKeys = s.held, s.keys
	}
	k.most, k.mostKeys = max(k.most, s.held), max(k.mostKeys, s.keys)
	k.sinceAsk++
	quiet := s.commands-k.last.commands <= quietCommands
	k.last = s
	dropped := min(k.most-s.held, s.objects)
	if gone := k.mostKeys - s.keys; gone > 0 { // keys are alike: half of them have half of the heap
		dropped = max(dropped, uint64(float64(s.objects)*float64(gone)/float64(k.mostKeys)))
	}
	yes := false
	if quiet {
		// What a collection would free, and what the previous one freed.
		spare := dropped + s.free + (max(s.objects, s.live) - s.live)
		yes = spare >= max(worthwhile, s.objects/8) && k.sinceAsk > quietPause
	} else {
		// Only if most of the heap is garbage: marking is then fast.
		yes = dropped >= max(worthwhile, s.objects/2) && k.sinceAsk > busyPause
	}
	if yes {
		k.most, k.mostKeys, k.sinceAsk = s.held, s.keys, 0
	}
	return yes
}
