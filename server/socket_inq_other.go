//go:build unix && !(linux && (amd64 || arm64))

package server

import "syscall"

// An inq reads from a socket. It does not know whether more has arrived.
type inq struct{ arrivedNs int64 }

func enableTimestamps(uintptr) {}

// parseTimestamp returns 0: timestamps are not known.
func parseTimestamp([]byte) int64 { return 0 }

func (*inq) enable(uintptr) {}

func (*inq) read(fd uintptr, b []byte) (n int, all bool, e syscall.Errno) {
	n, e = sysRead(fd, b)
	return n, false, e
}
