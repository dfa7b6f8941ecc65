package commands

import (
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/resp"
)

// An Output is what the reply of the call under way may take. The caller of a handler sets the exported
// fields; Ctx.Reset prepares the others for another call.
//
// What passes a bound is dropped, and Exceeded says so. A command goes on to its end all the same, since its
// effects do not depend on its reply; one that only reads may stop when Builder.Add returns false.
type Output struct {
	Encodes bool // the reply goes to a client, so it may be encoded in parts
	OutputBounds

	bytes    int64
	exceeded bool
}

// OutputBounds are the bounds of a reply.
type OutputBounds struct {
	Limit  int64         // bytes; 0: none
	Shared *atomic.Int64 // bytes that all clients together may take, 0 for no bound; nil: none
}

// Bounded reports whether there is a bound.
func (b *OutputBounds) Bounded() bool { return b.Limit > 0 || b.Shared != nil && b.Shared.Load() > 0 }

// Passed reports whether a reply of so many bytes has passed a bound.
func (b *OutputBounds) Passed(bytes int64) bool {
	if b.Limit > 0 && bytes >= b.Limit {
		return true
	}
	if b.Shared == nil {
		return false
	}
	shared := b.Shared.Load()
	return shared > 0 && bytes >= shared
}

// Reset forgets the reply so far.
func (o *Output) Reset() { o.bytes, o.exceeded = 0, false }

// Exceeded reports whether a part of the reply was dropped.
func (o *Output) Exceeded() bool { return o.exceeded }

// Bytes returns how much was encoded, and what is held besides, at the least.
func (o *Output) Bytes() int64 { return o.bytes }

// Exceed notes that a reply made elsewhere has passed a bound with so many bytes.
func (o *Output) Exceed(bytes int64) { o.bytes, o.exceeded = bytes, true }

// grow adds n bytes. It reports whether they are within the bounds.
func (o *Output) grow(n int) bool {
	o.bytes += int64(n)
	o.exceeded = o.exceeded || o.Passed(o.bytes)
	return !o.exceeded
}

// A Builder makes an aggregate reply, one element after the other. A short reply is a resp.Array, resp.Map or
// resp.Set of what was added. Of a longer one to a client, what was added so far is encoded now and then, and
// the scratch space in which it stood is used again: the reply takes its own size and no more, and no more
// than Ctx.Out allows. For scripts and programs, which read values, these are collected within the same
// bounds.
//
// A handler may add the reply of one Builder to another. It adds nothing to the outer one while it fills the
// inner one.
type Builder struct {
	c      *Ctx
	values []resp.Value // not encoded yet
	count  int          // elements that are encoded
	blocks *resp.Blocks // nil: none is
	space  scratchMark
}

// maxPending is how many elements wait to be encoded, and maxPendingBytes how many bytes of Ctx.Copy.
const (
	maxPending      = 256
	maxPendingBytes = 64 << 10
)

// Build begins a reply of about n elements.
func (c *Ctx) Build(n int) Builder {
	if c.Out.Encodes {
		n = min(n, maxPending)
	} else if n > maxPending && !c.Out.grow(n*valueBytes) {
		n = maxPending
	}
	values := c.Values(n)
	return Builder{c: c, values: values, space: c.scratch.mark()}
}

const valueBytes = int(unsafe.Sizeof(resp.Value{}))

// Add appends an element. It returns false if the reply is more than the bounds allow, which a command that
// only reads may take as its end.
func (b *Builder) Add(v resp.Value) bool {
	if len(b.values) == cap(b.values) || b.c.scratch.long() || v.IsLong() {
		return b.add(v)
	}
	b.values = append(b.values, v)
	return true
}

// AddPair appends a key and its value. Both may be in the scratch space, so it is not freed between them.
func (b *Builder) AddPair(key, value resp.Value) bool {
	out := &b.c.Out
	if out.Encodes && (len(b.values)+2 > maxPending || b.c.scratch.long() || key.IsLong()) {
		b.encode()
		b.append(&key)
		b.append(&value)
		return !out.exceeded
	}
	return b.Add(key) && b.Add(value)
}

// AddArray appends an array of two elements.
func (b *Builder) AddArray(first, second resp.Value) bool {
	if first.IsLong() || second.IsLong() {
		pair := b.c.Build(2)
		pair.AddPair(first, second)
		return b.Add(pair.Array())
	}
	return b.Add(resp.Array(append(b.c.Values(2), first, second)...))
}

func (b *Builder) add(v resp.Value) bool {
	out := &b.c.Out
	if !out.Encodes {
		return b.collect(v)
	}
	if len(b.values) < maxPending && !b.c.scratch.long() && !v.IsLong() {
		b.values = append(b.values, v)
		return !out.exceeded
	}
	b.encode()
	b.append(&v)
	return !out.exceeded
}

// collect appends an element that is not encoded.
func (b *Builder) collect(v resp.Value) bool {
	out := &b.c.Out
	full := len(b.values) == cap(b.values)
	if full && !out.grow(max(len(b.values), maxPending)*valueBytes) || out.exceeded {
		return false
	}
	b.values = append(b.values, v)
	return true
}

// encode encodes what was added and frees its scratch space.
func (b *Builder) encode() {
	for i := range b.values {
		b.append(&b.values[i])
	}
	b.values = b.values[:0]
	b.c.scratch.restore(&b.space)
}

// append encodes an element.
func (b *Builder) append(v *resp.Value) {
	out := &b.c.Out
	b.count++
	size := 0
	if v.Kind() != resp.KindStream { // otherwise it was counted when it was made
		size = v.TextLen()
	}
	if out.exceeded || size >= resp.LongText && !out.grow(size) {
		b.drop()
		return
	}
	if b.blocks == nil {
		b.blocks = &resp.Blocks{}
	}
	before := b.blocks.Size()
	counted := size >= resp.LongText || v.Kind() == resp.KindStream
	b.blocks.Append(v, b.c.Proto)
	if !counted && !out.grow(b.blocks.Size()-before) {
		b.drop()
	}
}

// drop frees what is encoded: the client is not sent it.
func (b *Builder) drop() {
	if b.blocks != nil {
		b.blocks.Free()
	}
}

// Len returns the number of elements.
func (b *Builder) Len() int { return b.count + len(b.values) }

// Pending returns the elements that are not encoded yet, which may be changed.
func (b *Builder) Pending() []resp.Value { return b.values }

// Array returns the elements as an array.
func (b *Builder) Array() resp.Value { return b.reply(resp.KindArray) }

// Map returns the elements as a map of alternating keys and values.
func (b *Builder) Map() resp.Value { return b.reply(resp.KindMap) }

// Set returns the elements as a set.
func (b *Builder) Set() resp.Value { return b.reply(resp.KindSet) }

func (b *Builder) reply(kind resp.Kind) resp.Value {
	switch {
	case b.c.Out.exceeded:
		b.drop()
		return resp.None
	case b.blocks == nil:
		return resp.Aggregate(kind, b.values)
	}
	b.encode()
	b.blocks.Prepend(kind, b.count, b.c.Proto)
	return resp.Streamed(b.blocks)
}

// Elements returns the elements one after the other, without the head of an aggregate.
func (b *Builder) Elements() resp.Value {
	if !b.c.Out.Encodes {
		var all []byte
		for i := range b.values {
			all = resp.Append(all, &b.values[i], b.c.Proto)
		}
		return resp.Encoded(all)
	}
	if b.blocks == nil {
		b.blocks = &resp.Blocks{}
	}
	b.encode()
	return resp.Streamed(b.blocks)
}

// Encode encodes a reply that no Builder made, within the bounds.
func (c *Ctx) Encode(v resp.Value) resp.Value {
	if !v.Kind().IsAggregate() {
		one := c.Build(0)
		one.Add(v)
		return one.Elements()
	}
	elems := v.Elems()
	b := c.Build(0)
	for i := range elems {
		if !b.Add(elems[i]) {
			break
		}
	}
	return b.reply(v.Kind())
}
