package dump

import (
	"encoding/binary"
	"math"
	"slices"
)

// A Compressor compresses with LZF. The zero value is ready to use. It reuses memory
// between calls and is not safe for concurrent use.
//
// A hash table records where three bytes last occurred. It ignores collisions, so a
// match is compared. It is never cleared between calls, since positions continue from
// one call to the next.
type Compressor struct {
	places []uint32 // base + last position of three bytes with this hash
	base   uint32   // above every position of earlier calls
	out    []byte
}

const (
	lzfHashBits   = 14
	lzfWindow     = 1 << 13 // maximum distance of a repetition
	lzfLiterals   = 1 << 5  // maximum literal bytes after a control byte
	lzfRepeat     = longestRepeat
	lzfShortest   = 3 // minimum length of a repetition
	lzfWithinByte = 7 + 2
)

// Compress returns in compressed, or nil if that would exceed its length less four
// bytes. The result is valid until the next call.
func (c *Compressor) Compress(in []byte) []byte {
	if len(in) < lzfShortest+1 || len(in) >= math.MaxInt32 {
		return nil
	}
	c.begin(len(in))
	limit := len(in) - 4
	out := slices.Grow(c.out[:0], len(in)+lzfLiterals)
	defer func() {
		c.keep(out)
		c.base += uint32(len(in))
	}()

	from := 0 // start of the pending literals
	pos := 0
	for pos+lzfShortest < len(in) {
		back, ok := c.seen(in, pos)
		if !ok {
			pos++
			// Search less densely in a long run without matches.
			pos += (pos - from) >> 8
			continue
		}
		n := lzfShortest
		longest := min(len(in)-pos, lzfRepeat)
		for n < longest && in[pos-back+n] == in[pos+n] {
			n++
		}
		out = appendLiterals(out, in[from:pos])
		out = appendRepeat(out, back, n)
		if len(out) > limit {
			return nil
		}
		if end := pos + n; end+lzfShortest < len(in) { // the next match may begin in what was skipped
			c.seen(in, end-2)
			c.seen(in, end-1)
		}
		pos += n
		from = pos
	}
	out = appendLiterals(out, in[from:])
	if len(out) > limit {
		return nil
	}
	return out
}

// begin invalidates the positions of earlier calls.
func (c *Compressor) begin(size int) {
	if c.places == nil {
		c.places = make([]uint32, 1<<lzfHashBits)
		c.base = 1
	}
	if c.base > math.MaxUint32-uint32(size) {
		clear(c.places)
		c.base = 1
	}
}

// keep keeps the buffer for the next call unless it is huge.
func (c *Compressor) keep(out []byte) {
	const most = 1 << 20
	if c.out = out; cap(out) > most {
		c.out = nil
	}
}

// seen records the three bytes at pos and returns the distance to their last
// occurrence.
func (c *Compressor) seen(in []byte, pos int) (back int, ok bool) {
	b := in[pos : pos+4 : pos+4]
	three := binary.LittleEndian.Uint32(b) & 0xffffff
	slot := &c.places[three*0x9e3779b1>>(32-lzfHashBits)]
	last := *slot
	*slot = c.base + uint32(pos)
	if last < c.base {
		return 0, false
	}
	at := int(last - c.base)
	back = pos - at
	if back <= 0 || back > lzfWindow {
		return 0, false
	}
	return back, in[at] == b[0] && in[at+1] == b[1] && in[at+2] == b[2]
}

func appendLiterals(out, literals []byte) []byte {
	for len(literals) > 0 {
		n := min(len(literals), lzfLiterals)
		out = append(append(out, byte(n-1)), literals[:n]...)
		literals = literals[n:]
	}
	return out
}

// appendRepeat appends a repetition of n bytes from back bytes before.
func appendRepeat(out []byte, back, n int) []byte {
	back--
	if n < lzfWithinByte {
		return append(out, byte((n-2)<<5|back>>8), byte(back))
	}
	return append(out, byte(7<<5|back>>8), byte(n-lzfWithinByte), byte(back))
}
