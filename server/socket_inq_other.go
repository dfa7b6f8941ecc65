//go:build unix && !(linux && (amd64 || arm64))

package server

import "syscall"

// An inq reads, and does not know whether there is more.
type inq struct{ stamp int64 }

func stampPackets(uintptr) {}

// stampIn knows no stamps.
func stampIn([]byte) int64 { return 0 }

func (*inq) ask(uintptr) {}

func (*inq) read(fd uintptr, b []byte) (n int, all bool, e syscall.Errno) {
	n, e = sysRead(fd, b)
	return n, false, e
}
