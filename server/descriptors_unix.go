//go:build unix && !freebsd && !dragonfly

package server

import (
	"math"
	"syscall"
)

// openFiles returns how many files the process may have open. It raises the limit
// towards needed as far as the system allows.
func openFiles(needed int64) int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt64
	}
	for _, hard := range []uint64{limit.Max, uint64(needed)} {
		raised := syscall.Rlimit{Cur: min(uint64(needed), hard), Max: max(hard, limit.Max)}
		if limit.Cur < raised.Cur {
			if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
				limit = raised
			}
		}
	}
	return int64(min(limit.Cur, math.MaxInt64))
}
