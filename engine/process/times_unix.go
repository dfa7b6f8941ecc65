//go:build unix

package process

import "syscall"

// Times returns the processor time of the process and that of its children.
func Times() (own, children CPUTime) {
	return timesOf(syscall.RUSAGE_SELF), timesOf(syscall.RUSAGE_CHILDREN)
}

func timesOf(who int) CPUTime {
	var r syscall.Rusage
	if syscall.Getrusage(who, &r) != nil {
		return CPUTime{}
	}
	us := func(t syscall.Timeval) int64 {
		return int64(t.Sec)*1_000_000 + int64(t.Usec) //nolint:unconvert // the widths differ between systems
	}
	return CPUTime{UserUs: us(r.Utime), SystemUs: us(r.Stime)}
}
