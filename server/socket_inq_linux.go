//go:build linux && (amd64 || arm64)

package server

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// An inq reads from a TCP socket and gets two control messages in the same call.
// TCP_INQ (Linux 4.18, include/uapi/linux/tcp.h) has the number of bytes left,
// which is 1 if only the end of the stream is left. SO_TIMESTAMPNS has the time of
// arrival. Before enable, or without support of the kernel, an inq just reads.
type inq struct {
	enabled   bool
	arrivedNs int64 // when the last bytes read arrived, in nanoseconds; 0: unknown
	head      syscall.Msghdr
	vec       syscall.Iovec
	control   [timestampSpace + inqSpace]byte
}

const (
	tcpINQ = 36 // for setsockopt and the message

	timestampSpace = syscall.SizeofCmsghdr + 16 // a message with a Timespec
	inqSpace       = syscall.SizeofCmsghdr + 8  // a message with an int32
)

func (q *inq) enable(fd uintptr) {
	if syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) != nil {
		return
	}
	enableTimestamps(fd)
	q.enabled = true
	q.head.Iov, q.head.Iovlen = &q.vec, 1
	q.head.Control = &q.control[0]
}

// enableTimestamps makes the kernel record when packets for a socket arrive. The
// kernel records nothing until a socket of the machine asks, and takes some
// milliseconds to begin. So listeners ask too.
func enableTimestamps(fd uintptr) {
	// On failure timestamps are unknown.
	_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
}

func (q *inq) read(fd uintptr, b []byte) (n int, all bool, e syscall.Errno) {
	if !q.enabled {
		n, e = sysRead(fd, b)
		return n, false, e
	}
	q.vec.Base = unsafe.SliceData(b)
	q.vec.SetLen(len(b))
	q.head.Controllen = uint64(len(q.control))
	r, _, e := syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&q.head)), 0)
	q.vec.Base = nil
	if e != 0 {
		return int(r), false, e
	}
	control := q.control[:q.head.Controllen]
	q.arrivedNs = parseTimestamp(control)
	left, ok := controlMessage(control, syscall.IPPROTO_TCP, tcpINQ)
	return int(r), ok && binary.NativeEndian.Uint32(left) == 0, 0
}

// parseTimestamp returns the timestamp in control messages, or 0 if there is none.
func parseTimestamp(control []byte) int64 {
	at, ok := controlMessage(control, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS)
	if !ok {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(at))*1e9 + int64(binary.NativeEndian.Uint64(at[8:]))
}

// controlMessage returns the body of the control message of the given level and
// kind.
func controlMessage(control []byte, level, kind uint32) (body []byte, ok bool) {
	for len(control) >= syscall.SizeofCmsghdr {
		size := int(binary.NativeEndian.Uint64(control))
		if size < syscall.SizeofCmsghdr || size > len(control) {
			break
		}
		if binary.NativeEndian.Uint32(control[8:]) == level &&
			binary.NativeEndian.Uint32(control[12:]) == kind {
			return control[syscall.SizeofCmsghdr:size], true
		}
		control = control[min((size+7)&^7, len(control)):]
	}
	return nil, false
}
