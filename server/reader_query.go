package server

import "math/bits"

// A queryBuffer says how large redis-server's query buffer would be where ours is
// what it is: CLIENT LIST shows that one, as clients know it. It follows
// readQueryFromClient of Redis 7.0 with the sizes in which jemalloc gives memory,
// and is a number, not memory.
type queryBuffer struct{ size int }

const (
	queryRead   = 16 << 10 // what Redis makes room for before it reads
	queryBig    = 32 << 10 // an argument of that many bytes gets a buffer of its own
	queryShrink = 32 << 10 // a buffer above this, once empty, is soon given back
	queryGreedy = 1 << 20  // up to here a buffer doubles
)

// emptyQuery is the buffer of a connection that has sent nothing.
func emptyQuery() queryBuffer { return queryBuffer{stringRoom(0)} }

// reserve makes room for the next read behind pending bytes, which are a part of
// an argument of bulk bytes where that is not noBulk.
func (q *queryBuffer) reserve(pending, bulk int) {
	if pending == 0 && q.size > queryShrink {
		q.size = 0
	}
	switch {
	case bulk >= queryBig:
		q.size = max(q.size, stringRoom(max(pending, bulk+2)))
	case q.size < queryRead:
		q.size = max(q.size, stringRoom(pending+queryRead))
	}
}

// hold makes room for bytes that Redis has read one buffer after the other.
func (q *queryBuffer) hold(used int) {
	for q.size < used {
		size := q.size + queryRead
		if size < queryGreedy {
			size *= 2
		} else {
			size += queryGreedy
		}
		q.size = stringRoom(size)
	}
}

// stringRoom is the room of a string of Redis' that is made for n bytes: what
// jemalloc gives for them without its header and its final NUL.
func stringRoom(n int) int {
	header := 3
	switch {
	case n >= 1<<16:
		header = 9
	case n >= 1<<8:
		header = 5
	}
	return sizeClass(header+n+1) - header - 1
}

// sizeClass is how many bytes jemalloc gives for n: four sizes between one power
// of two and the next.
func sizeClass(n int) int {
	if n <= 8 {
		return 8
	}
	step := max(1<<max(bits.Len(uint(n-1))-3, 0), 16)
	return (n + step - 1) / step * step
}
