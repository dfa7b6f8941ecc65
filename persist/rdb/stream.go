package rdb

import (
	"encoding/binary"
	"io"
	"runtime"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store"
)

// Large reports whether DUMP should write a value in pieces. It is false for values
// whose type depends on whether they are a listpack, which a frozen value does not
// know.
func Large(value store.Value) bool {
	const bytes = 64 << 10
	s, ok := value.(*store.String)
	return ok && s.Size() > bytes || value.Len() > packLimit
}

// A Payload writes the DUMP payload of a value, which must not change meanwhile. The
// payload is generated twice, once for its size, which precedes it in a reply, and once
// to write it. Each time only a piece of it is in memory, or a copy of its largest
// string if that is larger.
type Payload struct{ enc encoder }

// NewPayload returns a Payload. compress is rdbcompression.
func NewPayload(compress bool) *Payload {
	p := &Payload{}
	if compress {
		p.enc.lzf = &dump.Compressor{}
	}
	return p
}

// Size returns the number of bytes that Write will write.
func (p *Payload) Size(value store.Value) int { return p.enc.size(value) }

// Write writes the payload to w in pieces of about 64 KiB.
func (p *Payload) Write(w io.Writer, value store.Value) error {
	e := &p.enc
	e.begin(w, true)
	e.byte(typeOf(value))
	e.value(value)
	e.buf = binary.LittleEndian.AppendUint16(e.buf, dump.Version)
	e.flush()
	e.checksum = false
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.crc)
	e.flush()
	return e.err
}

// size returns the size of a payload. It discards the encoder's buffer.
func (e *encoder) size(value store.Value) int {
	e.begin(discard{}, false)
	e.byte(typeOf(value))
	e.value(value)
	e.flush()
	size := e.written
	e.begin(nil, false)
	return int(size) + dump.FooterSize
}

// begin makes the encoder write to w.
func (e *encoder) begin(w io.Writer, checksum bool) {
	e.buf, e.w, e.err, e.written, e.crc, e.checksum = e.buf[:0], w, nil, 0, 0, checksum
}

// discard discards what is written to it, and yields the processor now and then, which
// nothing else does during the computation.
type discard struct{}

func (discard) Write(p []byte) (int, error) {
	runtime.Gosched()
	return len(p), nil
}
