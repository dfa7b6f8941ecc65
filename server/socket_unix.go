//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"
)

// rawConn returns the socket below a connection, nil where there is none (an
// in-memory pipe).
func rawConn(nc net.Conn) syscall.RawConn {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// writeSome writes what the socket takes at once; it is no error if that is
// less than b.
func writeSome(raw syscall.RawConn, b []byte) (n int, err error) {
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for n < len(b) {
			m, e := syscall.Write(int(fd), b[n:])
			switch {
			case e == nil:
				n += m
				continue
			case errors.Is(e, syscall.EINTR):
				continue
			case !errors.Is(e, syscall.EAGAIN):
				failed = e
			}
			break
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return n, err
}

// readSome reads what has arrived, without waiting; nothing, and no error, if
// there is nothing or the client has ended its side.
func readSome(raw syscall.RawConn, b []byte) (n int, err error) {
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			if n, failed = syscall.Read(int(fd), b); !errors.Is(failed, syscall.EINTR) {
				return true
			}
		}
	})
	if err == nil && !errors.Is(failed, syscall.EAGAIN) {
		err = failed
	}
	return max(n, 0), err
}

// fileDescriptor is what CLIENT LIST shows as fd.
func fileDescriptor(nc net.Conn) int {
	fd := -1
	if raw := rawConn(nc); raw != nil {
		raw.Control(func(f uintptr) { fd = int(f) })
	}
	return fd
}
