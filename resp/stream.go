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
