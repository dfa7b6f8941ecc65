//go:build !linux

package engine

import "runtime"

// residentBytes returns what the process has in memory, 0 where that is not known.
func residentBytes() int64 { return 0 }

// machineBytes returns the memory of the machine, 0 where that is not known.
func machineBytes() int64 { return 0 }

func osName() string { return runtime.GOOS + " " + machineName() }
