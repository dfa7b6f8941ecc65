package resp

import (
	"io"
	"unsafe"
)

// A stream is what a Value of KindStream points to.
type stream struct{ io.WriterTo }

// Streamed returns a reply that is made while it is sent: w writes it encoded,
// alike in both protocols, in pieces. It may do so after the session has run
// further commands, in another goroutine, once.
func Streamed(w io.WriterTo) Value {
	return Value{kind: KindStream, ptr: unsafe.Pointer(&stream{w})}
}

// Stream returns what Streamed was given; v must be of KindStream.
func (v Value) Stream() io.WriterTo { return (*stream)(v.ptr).WriterTo }

// appended is a writer into memory.
type appended struct{ b []byte }

func (a *appended) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func appendStream(b []byte, w io.WriterTo) []byte {
	a := appended{b}
	_, _ = w.WriteTo(&a) // memory takes everything
	return a.b
}
