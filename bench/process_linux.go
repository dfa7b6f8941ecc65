package main

import (
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// tie binds a server's life to this process. In its own process group it does not get
// the terminal's Ctrl-C, which this process handles. The kernel ends it if this process
// is killed. That signal is bound to the thread that starts the server, which main
// therefore keeps.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processClock returns the processor time of a process, which is the sum of utime and
// stime, in nanoseconds instead of /proc's hundredths of a second. Its clock's number is
// made of the process id, as in clock_getcpuclockid(3).
func processClock(pid int) (time.Duration, bool) {
	const scheduler = 2 // CPUCLOCK_SCHED
	var at syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|scheduler),
		uintptr(unsafe.Pointer(&at)), 0)
	return time.Duration(at.Nano()), errno == 0
}
