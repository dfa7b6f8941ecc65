package upstream

import (
	"bytes"
	"io"
	"strconv"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// A rawReader moves the parts of a raw reply elsewhere, one after the other. Blocks are freed once they are
// read, so that the reply is not there twice.
type rawReader struct {
	rest  []byte
	block []byte       // that rest is the end of; nil: of none
	from  *resp.Blocks // what follows rest; nil: nothing
}

// reader returns a reader of the unit's reply, which is given up.
func (x *unit) reader() rawReader {
	if x.long != nil {
		return rawReader{from: x.long}
	}
	return rawReader{rest: x.reply}
}

// more reports whether rest has a byte, which is read from the next block if need be.
func (r *rawReader) more() bool {
	for len(r.rest) == 0 {
		resp.FreeBlock(r.block)
		if r.block = nil; r.from == nil {
			return false
		}
		if r.block = r.from.Next(); r.block == nil {
			return false
		}
		r.rest = r.block
	}
	return true
}

// line moves a line and returns its first byte, and the number behind that. kind is 0 at the end.
func (r *rawReader) line(to io.Writer) (kind byte, n int64) {
	var room [32]byte
	start := room[:0]
	for r.more() {
		end := bytes.IndexByte(r.rest, '\n') + 1
		part := r.rest[:end]
		if end == 0 {
			part = r.rest
		}
		_, _ = to.Write(part)
		start = append(start, part[:min(len(part), cap(start)-len(start))]...)
		r.rest = r.rest[len(part):]
		if end > 0 {
			n, _ = strconv.ParseInt(string(bytes.TrimSpace(start[1:])), 10, 64)
			return start[0], n
		}
	}
	return 0, 0
}

// next moves one reply. It reports false if there is no whole one.
func (r *rawReader) next(to io.Writer) bool {
	kind, n := r.line(to)
	switch kind {
	case 0:
		return false
	case '$', '=', '!':
		return n < 0 || r.move(to, n+2)
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1
	case '*', '~', '>':
	default:
		return true
	}
	for range n {
		if !r.next(to) {
			return false
		}
	}
	return true
}

// move moves n bytes. It reports false if there are fewer.
func (r *rawReader) move(to io.Writer, n int64) bool {
	for n > 0 {
		if !r.more() {
			return false
		}
		part := r.rest[:min(int64(len(r.rest)), n)]
		_, _ = to.Write(part)
		r.rest = r.rest[len(part):]
		n -= int64(len(part))
	}
	return true
}

// array moves the line before the elements of an array, set or push, and returns how many these are, or -1 if
// it is none.
func (r *rawReader) array() int {
	kind, n := r.line(io.Discard)
	if !bytes.ContainsRune([]byte("*~>"), rune(kind)) {
		return -1
	}
	return int(n)
}

// arrayHead returns the beginning of an array of n elements.
func arrayHead(n int) []byte { return resp.AppendHead(nil, resp.KindArray, int64(n), resp.RESP2) }

// setElements makes an array the reply of a call: n elements, which are all of b.
func setElements(c *call.Call, n int, b *resp.Blocks) {
	b.PrependBytes(arrayHead(n))
	if b.Size() > resp.LongText {
		c.Reply, c.Long = arrayHead(n), b
		return
	}
	c.Reply = b.Bytes()
}

// setArray makes an array of raw elements the reply of a call.
func setArray(c *call.Call, elems [][]byte) {
	size := 0
	for _, e := range elems {
		size += len(e)
	}
	if size <= resp.LongText {
		c.Reply = arrayOf(elems)
		return
	}
	out := &resp.Blocks{}
	for _, e := range elems {
		_, _ = out.Write(e)
	}
	setElements(c, len(elems), out)
}

// flatten brings the item's reply in one piece.
func (it *item) flatten() []byte {
	if r := &it.reading; r.long != nil {
		it.reply, r.long = r.long.Bytes(), nil
	}
	return it.reply
}

// whole brings the unit's reply in one piece.
func (x *unit) whole() []byte {
	if x.long != nil {
		x.reply, x.long = x.long.Bytes(), nil
	}
	return x.reply
}
