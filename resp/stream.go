package resp

import (
	"io"
	"unsafe"
)

// A stream is the target of ptr in a Value of KindStream.
type stream struct{ io.WriterTo }

// Streamed returns a reply generated while it is sent. w writes it encoded, identically
// in both protocols, in pieces. w is called once, possibly in another goroutine and
// after the session has run further commands.
func Streamed(w io.WriterTo) Value {
	return Value{kind: KindStream, ptr: unsafe.Pointer(&stream{w})}
}

// Stream returns the writer passed to Streamed. v must be of KindStream.
func (v Value) Stream() io.WriterTo { return (*stream)(v.ptr).WriterTo }

// StreamedAfter returns a streamed reply behind others that are encoded already. b is kept.
func StreamedAfter(b []byte, v Value) Value {
	if blocks, ok := v.Stream().(*Blocks); ok {
		blocks.PrependBytes(b)
		return v
	}
	return Streamed(&after{b, v.Stream()})
}

// after writes bytes before a stream.
type after struct {
	before []byte
	stream io.WriterTo
}

func (a *after) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(a.before)
	if err != nil {
		return int64(n), err
	}
	more, err := a.stream.WriteTo(w)
	return int64(n) + more, err
}

// appended is a writer that appends to memory.
type appended struct{ b []byte }

func (a *appended) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func appendStream(b []byte, w io.WriterTo) []byte {
	a := appended{b}
	_, _ = w.WriteTo(&a) // writes to memory do not fail
	return a.b
}
