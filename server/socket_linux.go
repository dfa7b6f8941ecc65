package server

import (
	"syscall"
	"unsafe"
)

// The two calls that every batch makes. The socket does not block, so neither
// do they: made raw, they spare the scheduler from preparing for a wait that
// cannot come, and its monitor thread from looking after it (docs/adr/0002 has
// the figures).

func sysRead(fd uintptr, b []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), e
}

func sysWrite(fd uintptr, b []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), e
}
