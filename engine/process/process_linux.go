package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ResidentBytes returns the resident memory of the process, 0 if it is unknown.
func ResidentBytes() int64 {
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

// MachineBytes returns the memory of the machine, 0 if it is unknown.
func MachineBytes() int64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return 0
	}
	//nolint:unconvert // the widths differ between processors
	return int64(uint64(s.Totalram) * uint64(s.Unit))
}

// OSName returns the system as uname prints it.
func OSName() string {
	system, _ := os.ReadFile("/proc/sys/kernel/ostype")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(bytes.TrimSpace(system)) + " " + string(bytes.TrimSpace(release)) + " " + machine()
}
