package rls

import (
	"net"
	"time"
)

// An input is what was read and is not handled. It is used by the connection's goroutine only.
type input struct {
	buf          []byte
	have         int       // bytes read into buf
	partialSince time.Time // when the frame or header block under way was first seen incomplete
}

// read reads once. Behind what it reads is room for more.
func (in *input) read(nc net.Conn) error {
	n, err := nc.Read(in.buf[in.have:])
	in.have += n
	if in.have == len(in.buf) && in.have < maxReadBuffer {
		in.buf = append(make([]byte, 0, maxReadBuffer), in.buf...)[:maxReadBuffer]
	}
	return err
}

// bytes returns what is not handled. It is valid until keep is called.
func (in *input) bytes() []byte { return in.buf[:in.have] }

// keep keeps the last bytes for the next round. Progress says that frames were handled, and inBlock that the
// last is one of an incomplete header block.
func (in *input) keep(b []byte, progress, inBlock bool, now time.Time) {
	in.have = copy(in.buf, b)
	switch {
	case len(b) == 0 && !inBlock:
		in.partialSince = time.Time{}
	case in.partialSince.IsZero() || progress && !inBlock:
		in.partialSince = now
	}
}

// deadline returns when what is incomplete must be whole; zero if nothing is.
func (in *input) deadline() time.Time {
	if in.partialSince.IsZero() {
		return time.Time{}
	}
	return in.partialSince.Add(frameTimeout)
}
