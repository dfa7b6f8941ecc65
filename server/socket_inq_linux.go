//go:build linux && (amd64 || arm64)

package server

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// An inq reads from a TCP socket and learns in the same call whether that was
// all, by TCP_INQ (Linux 4.18, include/uapi/linux/tcp.h): a control message with
// the number of bytes that are left, which is 1 where nothing but the end is; and
// when it has arrived, by SO_TIMESTAMPNS. Before ask, and where the kernel refuses,
// it reads and does not know.
type inq struct {
	asked   bool
	stamp   int64 // when the last bytes read have arrived, in nanoseconds; 0: not known
	head    syscall.Msghdr
	vec     syscall.Iovec
	control [stampSpace + leftSpace]byte
}

const (
	tcpINQ = 36 // of setsockopt, and of the message

	stampSpace = syscall.SizeofCmsghdr + 16 // a message with a Timespec
	leftSpace  = syscall.SizeofCmsghdr + 8  // a message with an int32
)

func (q *inq) ask(fd uintptr) {
	if syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) != nil {
		return
	}
	stampPackets(fd)
	q.asked = true
	q.head.Iov, q.head.Iovlen = &q.vec, 1
	q.head.Control = &q.control[0]
}

// stampPackets makes the kernel say when packets for a socket have arrived. While
// no socket of the machine asks it does not look, and takes some milliseconds to
// begin: so listeners ask too.
func stampPackets(fd uintptr) {
	_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1) // or stamps are not known
}

func (q *inq) read(fd uintptr, b []byte) (n int, all bool, e syscall.Errno) {
	if !q.asked {
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
	q.stamp = stampIn(control)
	left, ok := message(control, syscall.IPPROTO_TCP, tcpINQ)
	return int(r), ok && binary.NativeEndian.Uint32(left) == 0, 0
}

// stampIn returns the stamp among control messages, 0 where there is none.
func stampIn(control []byte) int64 {
	at, ok := message(control, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS)
	if !ok {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(at))*1e9 + int64(binary.NativeEndian.Uint64(at[8:]))
}

// message returns the body of one of the control messages.
func message(control []byte, level, kind uint32) (body []byte, ok bool) {
	for len(control) >= syscall.SizeofCmsghdr {
		size := int(binary.NativeEndian.Uint64(control))
		if size < syscall.SizeofCmsghdr || size > len(control) {
			break
		}
		if binary.NativeEndian.Uint32(control[8:]) == level && binary.NativeEndian.Uint32(control[12:]) == kind {
			return control[syscall.SizeofCmsghdr:size], true
		}
		control = control[min((size+7)&^7, len(control)):]
	}
	return nil, false
}
