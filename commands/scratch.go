package commands

import (
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/resp"
)

// scratch is memory that the replies of commands use, one after the other.
type scratch struct {
	values []resp.Value
	bytes  []byte
	keys   [][]byte
	dumper *rdb.Dumper // created when it is first needed
	found  any         // see Ctx.Remember
}

// A scratchMark is the used part of the scratch space.
type scratchMark struct {
	values []resp.Value
	bytes  []byte
}

// mark returns what is used now.
func (s *scratch) mark() scratchMark { return scratchMark{s.values, s.bytes} }

// restore frees what was allocated since m was marked.
func (s *scratch) restore(m *scratchMark) {
	s.values = s.values[:kept(cap(s.values), cap(m.values), len(m.values))]
	s.bytes = s.bytes[:kept(cap(s.bytes), cap(m.bytes), len(m.bytes))]
}

// kept returns how much of a space was used before. One of another capacity was allocated since, when the one
// before was full; values that were added to other builders keep that.
func kept(now, before, used int) int {
	if now != before {
		return 0
	}
	return used
}

// long reports whether so many bytes are used that what stands there is to be encoded.
func (s *scratch) long() bool { return len(s.bytes) > maxPendingBytes }

// Reset frees the scratch space, which invalidates the replies in it, and forgets what Remember keeps. The
// space of a huge reply is released.
func (c *Ctx) Reset() {
	c.Out.Reset()
	c.scratch.reset()
}

func (s *scratch) reset() {
	const keep = 64 << 10
	s.values, s.bytes = s.values[:0], s.bytes[:0]
	if s.found != nil {
		s.found = nil
	}
	if cap(s.values) > keep/64 {
		s.values = nil
	}
	if cap(s.bytes) > keep {
		s.bytes = nil
		clear(s.values[:cap(s.values)]) // they point to it
	}
}

// Values returns an empty slice with capacity for n values in the scratch space.
func (c *Ctx) Values(n int) []resp.Value {
	s := &c.scratch
	used := len(s.values)
	if cap(s.values)-used < n {
		// Earlier replies of the same EXEC keep the old array alive.
		s.values = make([]resp.Value, 0, max(64, 2*cap(s.values), n))
		used = 0
	}
	s.values = s.values[:used+n]
	return s.values[used : used : used+n]
}

// Copy returns a bulk string with a copy of b in the scratch space: a reply must not
// alias what the store may change.
func (c *Ctx) Copy(b []byte) resp.Value {
	s := &c.scratch
	used := len(s.bytes)
	if cap(s.bytes)-used < len(b) {
		if long, ok := c.copyLong(b); ok {
			return long
		}
		s.bytes = make([]byte, 0, max(512, 2*cap(s.bytes), len(b)))
		used = 0
	}
	s.bytes = append(s.bytes, b...)
	return resp.BulkBytes(s.bytes[used : used+len(b) : used+len(b)])
}

// copyLong is Copy for a text that is to be encoded at once, or is more than the reply may take.
func (c *Ctx) copyLong(b []byte) (resp.Value, bool) {
	switch {
	case len(b) < resp.BlockSize:
		return resp.None, false
	case !c.Out.grow(len(b)):
		return resp.None, true
	case !c.Out.Encodes:
		return resp.None, false
	}
	encoded, text := &resp.Blocks{}, resp.BulkBytes(b)
	encoded.Append(&text, c.Proto)
	return resp.Streamed(encoded), true
}

// own is Copy for bytes that become part of the scratch space themselves.
func (c *Ctx) own(b []byte) resp.Value {
	c.scratch.bytes = b
	return resp.BulkBytes(b)
}
