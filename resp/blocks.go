package resp

import (
	"io"
	"sync"
)

// BlockSize is the capacity of the blocks in which long replies are encoded and wait to be sent.
const BlockSize = 64 << 10

// minBlock is the capacity of the first block of a reply.
const minBlock = 4 << 10

// LongText is the length in bytes from which a text is encoded at once, instead of waiting in a Value.
const LongText = 4 << 10

var blockPool = sync.Pool{New: func() any { b := make([]byte, 0, BlockSize); return &b }}

// NewBlock returns an empty block of BlockSize. FreeBlock may have it back.
func NewBlock() []byte { return (*blockPool.Get().(*[]byte))[:0] }

// FreeBlock allows a block to be used again. Blocks of other sizes are left to the collector.
func FreeBlock(b []byte) {
	if cap(b) == BlockSize {
		b = b[:0]
		blockPool.Put(&b)
	}
}

// Blocks is an encoded reply, or a part of one, in blocks: a slice that grew to many megabytes would be
// copied again and again, and would take twice its size meanwhile. The zero value is empty.
type Blocks struct {
	blocks [][]byte
	size   int
}

// Size returns the number of bytes.
func (b *Blocks) Size() int { return b.size }

// Append encodes v in proto and appends it. Blocks in v are moved.
func (b *Blocks) Append(v *Value, proto int) {
	switch {
	case v.kind == KindStream:
		if from, ok := v.Stream().(*Blocks); ok {
			b.move(from)
			return
		}
		_, _ = v.Stream().WriteTo(b) // writes to memory do not fail
	case v.kind == KindEncoded:
		_, _ = b.Write(unsafeBytes(v.Str()))
	case v.num >= LongText && (v.kind == KindBulk || v.kind == KindVerbatim):
		b.appendLong(v, proto)
	case v.kind.IsAggregate() && v.num > 0:
		b.appendHead(v.kind, v.num, proto)
		for _, e := range v.Elems() {
			b.Append(&e, proto)
		}
	default:
		need := maxScalar
		if v.kind.isText() {
			need += int(v.num)
		}
		b.room(need, 0)
		b.edit(func(last []byte) []byte { return Append(last, v, proto) })
	}
}

// appendLong appends a long text without a slice that has all of it.
func (b *Blocks) appendLong(v *Value, proto int) {
	b.room(2*maxHeader, 0)
	b.edit(func(last []byte) []byte {
		if v.kind == KindVerbatim && proto == RESP3 {
			return append(appendHeader(last, '=', v.num+int64(len(verbatimFormat))), verbatimFormat...)
		}
		return appendHeader(last, '$', v.num)
	})
	_, _ = b.Write(unsafeBytes(v.Str()))
	_, _ = b.Write([]byte("\r\n"))
}

// maxScalar is the length of the longest encoded value beside its text.
const maxScalar = 64

// maxHeader is the length of the longest line before a text or the elements of an aggregate.
const maxHeader = len("$9223372036854775807\r\n")

func (b *Blocks) appendHead(kind Kind, n int64, proto int) {
	b.room(maxHeader, 0)
	b.edit(func(last []byte) []byte { return AppendHead(last, kind, n, proto) })
}

// Prepend inserts the line before n values, which are all of b.
func (b *Blocks) Prepend(kind Kind, n, proto int) {
	b.PrependBytes(AppendHead(make([]byte, 0, maxHeader), kind, int64(n), proto))
}

// PrependBytes inserts encoded replies at the front. p is kept.
func (b *Blocks) PrependBytes(p []byte) {
	b.blocks = append(b.blocks, nil)
	copy(b.blocks[1:], b.blocks)
	b.blocks[0] = p
	b.size += len(p)
}

// Write implements io.Writer for encoded replies. p is copied.
func (b *Blocks) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		b.room(1, len(p))
		last := &b.blocks[len(b.blocks)-1]
		part := min(len(p), cap(*last)-len(*last))
		*last = append(*last, p[:part]...)
		b.size += part
		p = p[part:]
	}
	return n, nil
}

// ReadN appends n bytes of r, which are encoded replies. It returns how many these were.
func (b *Blocks) ReadN(r io.Reader, n int64) (read int64, err error) {
	for read < n {
		b.room(1, int(min(n-read, BlockSize)))
		last := &b.blocks[len(b.blocks)-1]
		used := len(*last)
		part := (*last)[used:min(int64(cap(*last)), int64(used)+n-read)]
		got, err := io.ReadFull(r, part)
		*last = (*last)[:used+got]
		b.size += got
		if read += int64(got); err != nil {
			return read, err
		}
	}
	return read, nil
}

// room makes sure that the last block has room for need bytes. A new one is as large as what b has and what
// is expected, within limits.
func (b *Blocks) room(need, expected int) {
	if n := len(b.blocks); n > 0 {
		if last := b.blocks[n-1]; cap(last)-len(last) >= need {
			return
		}
	}
	if size := max(b.size, expected, need, minBlock); size < BlockSize {
		b.blocks = append(b.blocks, make([]byte, 0, size))
	} else {
		b.blocks = append(b.blocks, NewBlock())
	}
}

// edit replaces the last block.
func (b *Blocks) edit(fn func(last []byte) []byte) {
	last := &b.blocks[len(b.blocks)-1]
	before := len(*last)
	*last = fn(*last)
	b.size += len(*last) - before
}

// move appends the blocks of from, which is empty then. A short one is copied.
func (b *Blocks) move(from *Blocks) {
	if from.size < minBlock {
		_, _ = from.WriteTo(b)
		return
	}
	b.blocks = append(b.blocks, from.blocks...)
	b.size += from.size
	*from = Blocks{}
}

// Next removes and returns the first block. It returns nil if b is empty.
func (b *Blocks) Next() []byte {
	if len(b.blocks) == 0 {
		return nil
	}
	first := b.blocks[0]
	b.blocks[0] = nil
	b.blocks = b.blocks[1:]
	b.size -= len(first)
	return first
}

// WriteTo implements io.WriterTo. It frees what it has written.
func (b *Blocks) WriteTo(w io.Writer) (n int64, err error) {
	for err == nil {
		block := b.Next()
		if block == nil {
			break
		}
		var written int
		written, err = w.Write(block)
		n += int64(written)
		FreeBlock(block)
	}
	return n, err
}

// Bytes returns the content in one slice, and empties b.
func (b *Blocks) Bytes() []byte {
	all := appended{make([]byte, 0, b.size)}
	_, _ = b.WriteTo(&all) // writes to memory do not fail
	return all.b
}

// Free frees the blocks.
func (b *Blocks) Free() {
	for _, block := range b.blocks {
		FreeBlock(block)
	}
	*b = Blocks{}
}
