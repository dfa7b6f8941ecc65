package rdb

import (
	"io"
	"unsafe"

	"github.com/zlimit/zlimit/persist/dump"
)

// flushSize is the buffer size at which an encoder writes.
const flushSize = 64 << 10

// An encoder appends the parts of a file. With a writer it buffers at most flushSize
// and one element. Without one, everything stays in buf.
type encoder struct {
	buf      []byte
	w        io.Writer
	err      error // the first write error; nothing is written after it
	written  int64
	crc      uint64
	checksum bool
	lzf      *dump.Compressor // nil: no compression
	pack     listpack         // scratch
}

// flushIfLarge writes the buffer if it is large. It is called between elements.
func (e *encoder) flushIfLarge() {
	if e.w != nil && len(e.buf) >= flushSize {
		e.flush()
	}
}

func (e *encoder) flush() {
	if e.err == nil && len(e.buf) > 0 {
		if e.checksum {
			e.crc = dump.Checksum(e.crc, e.buf)
		}
		var n int
		n, e.err = e.w.Write(e.buf)
		e.written += int64(n)
	}
	if e.buf = e.buf[:0]; cap(e.buf) > 16*flushSize {
		e.buf = nil // drop the buffer of one huge string
	}
}

func (e *encoder) byte(b byte)     { e.buf = append(e.buf, b) }
func (e *encoder) length(n int)    { e.buf = dump.AppendLength(e.buf, uint64(n)) }
func (e *encoder) text(s []byte)   { e.buf = dump.AppendText(e.buf, s, e.lzf) }
func (e *encoder) string(s string) { e.text(bytesOf(s)) }
func (e *encoder) int(n int64)     { e.buf = dump.AppendInt(e.buf, n) }

// bytesOf returns a string's bytes, which must not be modified.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
