package lua

// keptBuffer is the size up to which a State keeps the buffer of a library function for the next one. Only
// larger ones are charged.
const keptBuffer = 2 << 10

// Buffer returns an empty buffer for the output of a library function. FinishBuffer must follow, unless
// there is an error.
func (L *Thread) Buffer() []byte {
	b := L.state.buffer
	L.state.buffer = nil // the function may call others
	return b[:0]
}

// GrowBuffer makes room for n bytes in a buffer. The old one and the new one must fit into the memory
// together.
func (L *Thread) GrowBuffer(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	size := max(len(b)+n, len(b)+len(b)/2, 256)
	if size > keptBuffer {
		L.GrowScratch(size)
	} else {
		L.Step(1)
	}
	grown := make([]byte, len(b), size)
	copy(grown, b)
	if cap(b) > keptBuffer {
		L.ReleaseScratch(cap(b))
	}
	return grown
}

// releaseBuffer gives a buffer back that is not used.
func (L *Thread) releaseBuffer(b []byte) {
	if cap(b) > keptBuffer {
		L.ReleaseScratch(cap(b))
	} else {
		L.state.buffer = b
	}
}

// FinishBuffer returns the content of a buffer as a string.
func (L *Thread) FinishBuffer(b []byte) Value {
	L.releaseBuffer(b)
	if cap(b) <= keptBuffer || len(b) < cap(b)/2 {
		return L.NewString(b)
	}
	return Bytes(b)
}

// Substring returns s[from:to]. It copies a small part, which would keep a large string alive.
func (L *Thread) Substring(s string, from, to int) Value {
	if len(s) > 1024 && to-from < len(s)/2 {
		return L.NewString([]byte(s[from:to]))
	}
	return String(s[from:to])
}
