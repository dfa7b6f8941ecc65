package upstream

import (
	"io"
	"math"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// A reading receives a raw reply as it arrives, by Write and, of texts, ReadFrom. It keeps no more than the
// bound of the call allows. What passes that is read to its end all the same: the replies of others follow it
// on the connection.
type reading struct {
	bound  *call.Bound // nil: none
	blocks bool        // a reply longer than resp.LongText is kept in blocks

	head    []byte       // the reply; of one in blocks, or that was dropped, its beginning
	long    *resp.Blocks // nil: the reply is not in blocks
	counted int64        // bytes added to bound
	dropped bool
	space   [32]byte // of most replies
}

// Write appends p, which is a line or the end of one.
func (r *reading) Write(p []byte) (int, error) {
	r.count(int64(len(p)))
	switch {
	case r.keepsHead(int64(len(p))):
		if r.head == nil {
			r.head = r.space[:0]
		}
		r.head = append(r.head, p...)
	case !r.dropped:
		_, _ = r.inBlocks().Write(p)
	}
	return len(p), nil
}

// ReadFrom appends a text of the length that io.CopyN says.
func (r *reading) ReadFrom(src io.Reader) (n int64, err error) {
	size := src.(*io.LimitedReader).N
	r.count(size)
	switch {
	case r.keepsHead(size):
		return r.readHead(src, size)
	case r.dropped:
		return io.Copy(io.Discard, src)
	}
	return r.inBlocks().ReadN(src, size)
}

// count adds n bytes to the bound. It frees what is kept if that is passed.
func (r *reading) count(n int64) {
	if r.bound == nil {
		return
	}
	n = min(n, math.MaxInt64>>1-r.counted) // a node may say any length
	r.counted += n
	if r.bound.Add(n) || r.dropped {
		return
	}
	r.dropped = true
	if r.long != nil {
		r.long.Free()
		r.long = nil
	} else if !isError(r.head) && len(r.head) > resp.LongText {
		r.head = slices.Clone(r.head[:resp.LongText])
	}
}

// keepsHead reports whether the next n bytes belong to head. The first line always does, and errors do, since
// they may have to be followed.
func (r *reading) keepsHead(n int64) bool {
	switch {
	case len(r.head) == 0, isError(r.head):
		return true
	case r.dropped || r.long != nil:
		return false
	}
	return !r.blocks || int64(len(r.head))+n <= resp.LongText
}

// inBlocks returns the blocks, to which head is copied first.
func (r *reading) inBlocks() *resp.Blocks {
	if r.long == nil {
		r.long = &resp.Blocks{}
		_, _ = r.long.Write(r.head)
	}
	return r.long
}

// readHead appends n bytes of src to head. No room is made for what does not come.
func (r *reading) readHead(src io.Reader, n int64) (read int64, err error) {
	for read < n {
		used := len(r.head)
		r.head = slices.Grow(r.head, int(min(n-read, max(int64(used), resp.BlockSize))))
		part := r.head[used:min(int64(cap(r.head)), int64(used)+n-read)]
		got, err := io.ReadFull(src, part)
		r.head = r.head[:used+got]
		if read += int64(got); err != nil {
			return read, err
		}
	}
	return read, nil
}

// fail forgets a reply that was not read to its end: the command may be sent again.
func (r *reading) fail() {
	r.bound.Add(-r.counted)
	if r.long != nil {
		r.long.Free()
	}
	r.head, r.long, r.counted = nil, nil, 0
}
