package engine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// residentBytes returns what the process has in memory, 0 where that is not known.
func residentBytes() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// machineBytes returns the memory of the machine, 0 where that is not known.
func machineBytes() int64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return 0
	}
	return int64(uint64(s.Totalram) * uint64(s.Unit)) //nolint:unconvert // of other processors the widths differ
}

// osName is the system as uname tells it.
func osName() string {
	system, _ := os.ReadFile("/proc/sys/kernel/ostype")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(bytes.TrimSpace(system)) + " " + string(bytes.TrimSpace(release)) + " " + machineName()
}
