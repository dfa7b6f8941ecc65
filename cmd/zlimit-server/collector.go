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
// suffices: minPercent. A small heap may grow by headroom, because scripts that leave
// garbage would otherwise trigger constant collections.
const (
	minPercent = 50
	maxPercent = 400
	// leastPercent is the least GOGC near to maxmemory.
	leastPercent = 15
	headroom     = 32 << 20 // bytes
)

// evictionReserve is the part of maxmemory that is left to the garbage of evicted keys:
// a seventh. With it resident memory stays below 1.25 times maxmemory under a flood of
// new keys; see docs/adr/0033.
const evictionReserve = 7

// gcPercent returns GOGC for a heap with the given number of live bytes. maxmemory is 0
// if there is no limit. Near to it the heap may grow to a tenth more than it: then the
// garbage of evicted keys is collected soon. GOMEMLIMIT would not do: free places among
// evicted keys count as used there, so that collections would never pause.
func gcPercent(live, maxmemory uint64) int {
	p := uint64(maxPercent)
	for p > minPercent && live*p/100 > headroom {
		p /= 2
	}
	if maxmemory > 0 && live > maxmemory/2 {
		room := maxmemory/10*11 - min(live, maxmemory/10*11)
		p = min(p, max(room*100/live, leastPercent))
	}
	return int(p)
}

// tuneCollector sets GOGC, and GOMEMLIMIT to nine tenths of the memory of the machine
// or container, unless the environment sets them.
func tuneCollector() {
	if tunesPercent() {
		debug.SetGCPercent(maxPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if all := machineMemory(os.DirFS("/")); all > 0 {
			debug.SetMemoryLimit(all / 10 * 9)
		}
	}
}

// tunesPercent reports whether GOGC is unset in the environment.
func tunesPercent() bool { return os.Getenv("GOGC") == "" }

// returnMemory runs once a second until done: it lets a keeper return memory and
// adapts GOGC to the heap and to maxmemory.
func returnMemory(e *engine.Engine, done <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	k := keeper{sinceReturn: busyPause} // it may return memory at once
	set := maxPercent
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		now := state{
			objects: samples[0].Value.Uint64(), free: samples[1].Value.Uint64(),
			live: samples[2].Value.Uint64(), collections: samples[3].Value.Uint64(),
			commands: e.Stats().Commands(), keys: k.last.keys, held: uint64(e.MemoryUse().Keyspace.Used),
		}
		if keys, ok := e.Keys(); ok {
			now.keys = keys
		}
		limit := uint64(e.MaxMemory())
		e.SetReserve(int64(limit / evictionReserve))
		if p := gcPercent(now.live, limit); p != set && tunesPercent() {
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
	last        state
	maxHeld     uint64 // maximum of held since the last collection
	maxKeys     int    // maximum of keys, likewise
	sinceReturn int    // seconds since due last returned true
	asked       uint64 // collections that due has asked for at its last call: they found what was held then
}

const (
	minSpare      = 8 << 20 // bytes; smaller amounts are ignored
	quietCommands = 1000    // a second: a collection disturbs few clients
	quietPause    = 5       // seconds between collections at such times
	busyPause     = 30      // and otherwise
)

// due reports whether to collect now and return free memory.
func (k *keeper) due(s state) bool {
	if s.collections != k.last.collections+k.asked {
		k.maxHeld, k.maxKeys = s.held, s.keys // roughly: when it was is unknown
	}
	k.asked = 0
	k.maxHeld, k.maxKeys = max(k.maxHeld, s.held), max(k.maxKeys, s.keys)
	k.sinceReturn++
	quiet := s.commands-k.last.commands <= quietCommands
	k.last = s
	garbage := min(k.maxHeld-s.held, s.objects)
	if removed := k.maxKeys - s.keys; removed > 0 { // keys are alike: half of them have half of the heap
		garbage = max(garbage, uint64(float64(s.objects)*float64(removed)/float64(k.maxKeys)))
	}
	collect := false
	if quiet {
		// What a collection would free, and what the previous one freed.
		spare := garbage + s.free + (max(s.objects, s.live) - s.live)
		collect = spare >= max(minSpare, s.objects/8) && k.sinceReturn > quietPause
	} else {
		// Only if most of the heap is garbage: marking is then fast.
		collect = garbage >= max(minSpare, s.objects/2) && k.sinceReturn > busyPause
	}
	if collect {
		k.maxHeld, k.maxKeys, k.sinceReturn, k.asked = s.held, s.keys, 0, 1
	}
	return collect
}
