package engine

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// cpuTimes is processor time in microseconds.
type cpuTimes struct{ userUs, systemUs int64 }

// machineName is the processor as uname names it.
func machineName() string {
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

// poller is what the runtime waits for sockets with.
func poller() string {
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

// heap is what Go's runtime says of its memory, in bytes. To ask for it stops
// nobody.
type heap struct {
	allocated   int64 // objects, those that nobody holds any more included
	active      int64 // and what is unused of their spans
	mapped      int64 // all that the runtime has from the system
	collections int64
}

func readHeap() heap {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	at := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return heap{allocated: at(0), active: at(0) + at(1), mapped: at(2) - at(3), collections: at(4)}
}

// revision is the commit that the program was built from: eight hexadecimal digits
// as Redis shows, all 0 where that is not known, and whether files had changed.
func revision() (commit string, dirty int) {
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
