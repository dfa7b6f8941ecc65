//go:build linux && (amd64 || arm64)

package server

import (
	"syscall"
	"unsafe"
)

// An inq reads from a TCP socket and learns in the same call whether that was
// all, by TCP_INQ (Linux 4.18, include/uapi/linux/tcp.h): a control message with
// the number of bytes that are left, which is 1 where nothing but the end is.
// Before ask, and where the kernel refuses, it reads and does not know.
type inq struct {
	asked bool
	head  syscall.Msghdr
	vec   syscall.Iovec
	left  struct {
		syscall.Cmsghdr
		bytes int32
		_     int32
	}
}

const tcpINQ = 36 // of setsockopt, and of the message

func (q *inq) ask(fd uintptr) {
	if syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) != nil {
		return
	}
	q.asked = true
	q.head.Iov, q.head.Iovlen = &q.vec, 1
	q.head.Control = (*byte)(unsafe.Pointer(&q.left))
}

func (q *inq) read(fd uintptr, b []byte) (n int, all bool, e syscall.Errno) {
	if !q.asked {
		n, e = sysRead(fd, b)
		return n, false, e
	}
	q.vec.Base = unsafe.SliceData(b)
	q.vec.SetLen(len(b))
	q.head.Controllen = uint64(unsafe.Sizeof(q.left))
	q.left.Type = 0
	r, _, e := syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&q.head)), 0)
	q.vec.Base = nil
	return int(r), q.left.Type == tcpINQ && q.left.bytes == 0, e
}
