//go:build !linux

package process

import "runtime"

// ResidentBytes returns the resident memory of the process, 0 if it is unknown.
func ResidentBytes() int64 { return 0 }

// MachineBytes returns the memory of the machine, 0 if it is unknown.
func MachineBytes() int64 { return 0 }

// OSName returns the system as uname prints it.
func OSName() string { return runtime.GOOS + " " + machine() }
