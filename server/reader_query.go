package server

import "math/bits"

// A queryBuffer is the size of redis-server's query buffer for the same input,
// which CLIENT LIST shows, because clients know that one. It is a number, not
// memory. It follows readQueryFromClient of Redis 7.0 with jemalloc's size classes.
type queryBuffer struct{ size int }

const (
	ioBufLen        = 16 << 10 // PROTO_IOBUF_LEN: what Redis makes room for before it reads
	bigArg          = 32 << 10 // PROTO_MBULK_BIG_ARG: an argument of that size gets a buffer of its own
	resizeThreshold = 32 << 10 // PROTO_RESIZE_THRESHOLD: a larger buffer is freed once it is empty
	sdsMaxPrealloc  = 1 << 20  // SDS_MAX_PREALLOC: up to here a buffer doubles
)

// newQueryBuffer returns the buffer of a connection that has sent nothing.
func newQueryBuffer() queryBuffer { return queryBuffer{sdsAlloc(0)} }

// reserve makes room for the next read behind pending bytes. If bulk is not noBulk,
// they are part of an argument of bulk bytes.
func (q *queryBuffer) reserve(pending, bulk int) {
	if pending == 0 && q.size > resizeThreshold {
		q.size = 0
	}
	switch {
	case bulk >= bigArg:
		q.size = max(q.size, sdsAlloc(max(pending, bulk+2)))
	case q.size < ioBufLen:
		q.size = max(q.size, sdsAlloc(pending+ioBufLen))
	}
}

// growTo makes room for used bytes that Redis has read one buffer after the other.
func (q *queryBuffer) growTo(used int) {
	for q.size < used {
		size := q.size + ioBufLen
		if size < sdsMaxPrealloc {
			size *= 2
		} else {
			size += sdsMaxPrealloc
		}
		q.size = sdsAlloc(size)
	}
}

// sdsAlloc returns the capacity of an sds made for n bytes: jemalloc's size class
// without the header and the final NUL.
func sdsAlloc(n int) int {
	header := 3
	switch {
	case n >= 1<<16:
		header = 9
	case n >= 1<<8:
		header = 5
	}
	return sizeClass(header+n+1) - header - 1
}

// sizeClass returns the size that jemalloc allocates for n bytes: there are four
// between one power of two and the next.
func sizeClass(n int) int {
	if n <= 8 {
		return 8
	}
	step := max(1<<max(bits.Len(uint(n-1))-3, 0), 16)
	return (n + step - 1) / step * step
}
