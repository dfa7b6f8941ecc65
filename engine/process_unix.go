//go:build unix

package engine

import "syscall"

// processTimes returns the processor time that the process has taken, and its
// children.
func processTimes() (own, children cpuTimes) {
	return timesOf(syscall.RUSAGE_SELF), timesOf(syscall.RUSAGE_CHILDREN)
}

func timesOf(who int) cpuTimes {
	var r syscall.Rusage
	if syscall.Getrusage(who, &r) != nil {
		return cpuTimes{}
	}
	us := func(t syscall.Timeval) int64 {
		return int64(t.Sec)*1_000_000 + int64(t.Usec) //nolint:unconvert // on other systems the widths differ
	}
	return cpuTimes{userUs: us(r.Utime), systemUs: us(r.Stime)}
}
