// Package process returns what the operating system and Go's runtime say of this
// process and its machine, for INFO.
//
// This package is internal to zlimit: it may change in any release.
package process

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A CPUTime is processor time in microseconds.
type CPUTime struct{ UserUs, SystemUs int64 }

// machine returns the processor's name as uname prints it.
func machine() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "386":
		return "i686"
	case "arm64":
		return "aarch64"
	}
	return runtime.GOARCH
}

// Poller returns the system call by which the runtime waits for sockets.
func Poller() string {
	switch runtime.GOOS {
	case "linux", "android":
		return "epoll"
	case "darwin", "ios", "freebsd", "netbsd", "openbsd", "dragonfly":
		return "kqueue"
	case "windows":
		return "iocp"
	}
	return "netpoll"
}

// A Heap is what Go's runtime says of its memory, in bytes.
type Heap struct {
	Allocated   int64 // objects, including unreachable ones
	Active      int64 // objects and the unused rest of their spans
	Mapped      int64 // everything that the runtime has from the system
	Collections int64 // garbage collections so far
}

// ReadHeap returns the present figures. It stops no goroutine.
func ReadHeap() Heap {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	at := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return Heap{Allocated: at(0), Active: at(0) + at(1), Mapped: at(2) - at(3), Collections: at(4)}
}

// LongestGCPause returns how long in microseconds the longest pause of all goroutines by
// the garbage collector was, since a number of collections, and their present number.
func LongestGCPause(since int64) (us, collections int64) {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	n := min(int(stats.NumGC-since), len(stats.Pause))
	for _, pause := range stats.Pause[:max(n, 0)] {
		us = max(us, pause.Microseconds())
	}
	return us, stats.NumGC
}

// Revision returns the commit that the program was built from, as eight
// hexadecimal digits, and 1 if files had been changed. An unknown commit is all
// zeros.
func Revision() (commit string, dirty int) {
	commit = "00000000"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return commit, 0
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= len(commit):
			commit = s.Value[:len(commit)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = 1
		}
	}
	return commit, dirty
}
