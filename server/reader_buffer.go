package server

// free returns the space to read into, which is never empty. It may move or replace
// the buffer, which invalidates all arguments.
//
// The buffer doubles only when it is full; a bulk larger than the buffer caps the
// last doubling at its own end. Every byte is moved a bounded number of times: to
// the front at most once per command, and by growth geometrically.
func (r *reader) free() []byte {
	unread := r.end - r.start
	switch {
	case len(r.buf) > maxKeptBuffer && unread < len(r.buf)/8:
		r.resize(max(2*unread, minBuffer))
	case r.full && len(r.buf) < pipelineBytes:
		r.full = false
		r.resize(2 * len(r.buf))
	case unread == 0:
		r.start, r.end, r.pos = 0, 0, 0
	case r.start > 0 && len(r.buf)-r.end < minRoom:
		r.move(r.buf)
	}
	if room := len(r.buf) - r.end; room < minRoom && (room == 0 || room < r.missing()) {
		r.resize(r.grown())
	}
	r.base = r.pos
	r.query.reserve(r.end-r.pos, r.bulk)
	return r.buf[r.end:]
}

// filled records that n bytes were read into the slice that free returned.
func (r *reader) filled(n int) {
	r.end += n
	r.full = r.end == len(r.buf)
}

// keepArgs sets the arguments of a command, which were appended to r.earlier.
func (r *reader) keepArgs(args [][]byte) { r.args, r.earlier = args, r.args }

// buffered returns the number of bytes received and not yet consumed by next.
func (r *reader) buffered() int { return r.end - r.start }

// queryBuffer returns CLIENT LIST's qbuf and qbuf-free, in bytes, as redis-server
// would report them. While a command of the last read runs, all of that read counts
// as used; between two reads, only bytes that are not yet part of an argument do.
func (r *reader) queryBuffer(running bool) (used, unused int) {
	used = r.end - r.pos
	if running {
		used = min(r.end-r.base, r.query.size)
	}
	r.query.growTo(used)
	return used, r.query.size - used
}

// memory returns the bytes of the reader's buffer and its slice of arguments.
func (r *reader) memory() int { return cap(r.buf) + argOverhead*(cap(r.args)+cap(r.earlier)) }

// isIdle reports whether the reader holds no part of anything, in the space that a new one has.
func (r *reader) isIdle() bool {
	return len(r.buf) <= minBuffer && r.start == r.end && !r.full && r.err == nil
}

// release frees what an idle connection does not need: everything without pending
// input, else what the unfinished command does not use. It invalidates all
// arguments and the slice that free returned, so it may only be called between two
// reads.
func (r *reader) release() {
	r.args, r.earlier = nil, nil
	unread := r.end - r.start
	if unread == 0 {
		r.buf, r.start, r.end, r.pos, r.base, r.full = nil, 0, 0, 0, 0, false
		return
	}
	if size := max(unread+minRoom, minBuffer); size < len(r.buf)/2 {
		r.resize(size)
	}
	r.base = r.pos
}

const (
	// maxFree is how many unused buffers of a kind a loop keeps.
	maxFree = 4 * groupSize
	// maxLentArgs bounds their slices of arguments.
	maxLentArgs = 64
)

// buffers are what a loop's connections share: those that wait need none.
type buffers struct {
	in  []*reader
	out [][]byte // for replies
}

// get returns a reader that holds nothing.
func (b *buffers) get() *reader {
	last := len(b.in) - 1
	if last < 0 {
		return newReader(defaultLimits())
	}
	r := b.in[last]
	b.in[last], b.in = nil, b.in[:last]
	return r
}

// put takes a reader that is idle.
func (b *buffers) put(r *reader) {
	if len(b.in) == maxFree {
		return
	}
	r.start, r.end, r.pos, r.base = 0, 0, 0, 0
	for _, args := range []*[][]byte{&r.args, &r.earlier} {
		if cap(*args) > maxLentArgs {
			*args = nil
		}
	}
	b.in = append(b.in, r)
}

// getOut returns a buffer for replies, or nil.
func (b *buffers) getOut() (buf []byte) {
	if last := len(b.out) - 1; last >= 0 {
		buf, b.out[last], b.out = b.out[last], nil, b.out[:last]
	}
	return buf
}

// putOut takes a buffer that getOut may return, and returns nil, or the buffer if it is not worth lending.
func (b *buffers) putOut(buf []byte) []byte {
	switch {
	case len(buf) > 0 || cap(buf) > minBuffer:
		return buf
	case cap(buf) > 0 && len(b.out) < maxFree:
		b.out = append(b.out, buf)
	}
	return nil
}

// missing returns how many bytes the scan is known to need, at least 1.
func (r *reader) missing() int {
	if r.bulk == noBulk {
		return 1
	}
	return max(r.bulk+2-(r.end-r.pos), 1)
}

// grown returns the size of the buffer that replaces a full one.
func (r *reader) grown() int {
	size := max(2*len(r.buf), minBuffer)
	// Only a bulk that outgrows the whole buffer may cap it. Capped at the ends of
	// small arguments, the buffer would grow by a constant and copying would be
	// quadratic.
	if r.bulk >= len(r.buf) && r.bulk < size {
		size = min(size, r.pos-r.start+r.bulk+2+minBuffer)
	}
	return size
}

// resize moves the unread bytes to the front of a new buffer.
func (r *reader) resize(size int) {
	r.move(make([]byte, size))
}

func (r *reader) move(buf []byte) {
	// The old arguments would keep the old buffer alive.
	for _, args := range []*[][]byte{&r.args, &r.earlier} {
		if cap(*args) > maxKeptArgs {
			*args = nil
		}
		clear((*args)[:cap(*args)])
	}
	r.end = copy(buf, r.buf[r.start:r.end])
	r.moved += int64(r.end)
	r.pos -= r.start
	r.start, r.buf = 0, buf
}
