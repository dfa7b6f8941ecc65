package rdb

import (
	"io"
	"unsafe"

	"github.com/zlimit/zlimit/persist/dump"
)

// flushSize is how much an encoder keeps before it writes.
const flushSize = 64 << 10

// An encoder appends what a file is made of. With a writer it keeps no more
// than flushSize and one element; without, everything stays in buf.
type encoder struct {
	buf      []byte
	w        io.Writer
	err      error // of the writer; nothing is written after it
	written  int64
	crc      uint64
	checksum bool
	lzf      *dump.Compressor // nil: nothing is compressed
	pack     listpack         // scratch
}

// room writes what has gathered. It is called between elements.
func (e *encoder) room() {
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
		e.buf = nil // one huge string
	}
}

func (e *encoder) byte(b byte)     { e.buf = append(e.buf, b) }
func (e *encoder) length(n int)    { e.buf = dump.AppendLength(e.buf, uint64(n)) }
func (e *encoder) text(s []byte)   { e.buf = dump.AppendText(e.buf, s, e.lzf) }
func (e *encoder) string(s string) { e.text(bytesOf(s)) }
func (e *encoder) int(n int64)     { e.buf = dump.AppendInt(e.buf, n) }

// bytesOf is a string's bytes, which nobody may change.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
