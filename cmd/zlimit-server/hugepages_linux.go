package main

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// This file asks the kernel to put the heap on huge pages: see docs/adr/0023. It asks
// only for ranges that are fully in memory, so that memory use does not grow. The
// kernel's own thread moves them later.

const (
	hugeInterval = time.Second // interval of the passes
	hugePerPass  = 128         // places checked in a pass, in less than half a millisecond
	maxHugeSize  = 4 << 20     // with larger ones, hardly any in a heap are full
	maxMaps      = 10_000      // advice splits mappings, and the kernel allows 65,530
)

// keepHuge checks the process until done.
func keepHuge(done <-chan struct{}) {
	h := newHugePages(os.DirFS("/"))
	if h == nil {
		return
	}
	tick := time.NewTicker(hugeInterval)
	defer tick.Stop()
	var left []uintptr // places left of the current round
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if len(left) == 0 {
			maps, err := os.ReadFile("/proc/self/maps")
			if err != nil {
				return
			}
			left = h.candidates(string(maps))
		}
		n := min(len(left), hugePerPass)
		for _, at := range left[:n] {
			h.advise(at)
		}
		left = left[n:]
	}
}

// hugePages describes this process's huge pages.
type hugePages struct {
	size     uintptr              // of a huge page, in bytes
	advised  map[uintptr]struct{} // where one was requested; Go keeps the addresses of its heap
	resident []byte               // mincore's result for the pages of one
}

// newHugePages returns nil if the system has no huge pages or forbids them. root is the
// root of the file system.
func newHugePages(root fs.FS) *hugePages {
	read := func(name string) string {
		text, err := fs.ReadFile(root, "sys/kernel/mm/transparent_hugepage/"+name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	size, err := strconv.ParseUint(read("hpage_pmd_size"), 10, 64)
	if err != nil || size == 0 || size > maxHugeSize || strings.Contains(read("enabled"), "[never]") {
		return nil
	}
	return &hugePages{
		size:     uintptr(size),
		advised:  map[uintptr]struct{}{},
		resident: make([]byte, int(size)/os.Getpagesize()),
	}
}

// candidates returns where huge pages could be: in private, writable, anonymous
// memory. maps is /proc/self/maps; if that is already long, no more are requested.
func (h *hugePages) candidates(maps string) (at []uintptr) {
	if strings.Count(maps, "\n") > maxMaps {
		return nil
	}
	for line := range strings.Lines(maps) {
		f := strings.Fields(line) // from-to, rights, offset, device, inode, name
		if len(f) < 5 || f[1] != "rw-p" || f[4] != "0" {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		end, wrong := strconv.ParseUint(to, 16, 64)
		if err != nil || wrong != nil {
			continue
		}
		for p := (uintptr(start) + h.size - 1) &^ (h.size - 1); p+h.size <= uintptr(end); p += h.size {
			at = append(at, p)
		}
	}
	return at
}

// advise asks the kernel for a huge page where memory has filled up, and cancels that
// where memory was returned: it may fill only in part again.
func (h *hugePages) advise(at uintptr) {
	_, asked := h.advised[at]
	full := h.full(at)
	if full == asked {
		return
	}
	advice := syscall.MADV_HUGEPAGE
	if asked {
		advice = syscall.MADV_NOHUGEPAGE
		delete(h.advised, at)
	} else {
		h.advised[at] = struct{}{}
	}
	// It is only advice, so a failure needs no report.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, h.size, uintptr(advice))
}

// full reports whether all memory of a place is resident.
func (h *hugePages) full(at uintptr) bool {
	_, _, e := syscall.Syscall(syscall.SYS_MINCORE, at, h.size, uintptr(unsafe.Pointer(&h.resident[0])))
	if e != 0 {
		return false
	}
	return !slices.ContainsFunc(h.resident, func(p byte) bool { return p&1 == 0 })
}
