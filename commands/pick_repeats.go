package commands

import (
	"errors"
	"io"
	"math/rand/v2"

	"github.com/zlimit/zlimit/resp"
)

// A negative count of HRANDFIELD, SRANDMEMBER or ZRANDMEMBER asks for any number of elements, which may
// repeat: a few bytes of input for a reply without an end. Each element of the collection is encoded once,
// and drawn from these. If no bound would cut the reply, it is drawn while it is sent. So it is of one
// instant, as in Redis, but takes the memory of the collection, does not hold the shard, and ends when its
// client is gone.

// minDrawn is how many elements a reply has at least that is drawn from encoded ones.
const minDrawn = 1024

// draws reports whether the reply to a query of a collection of n elements is a drawn.
func (p randomQuery) draws(c *Ctx, n int) bool {
	return p.repeats && c.Out.Encodes && p.count >= max(int64(n), minDrawn)
}

// A drawn is a reply of count elements, each one of those added.
type drawn struct {
	count int64
	proto int
	with  bool
	texts []byte // the elements encoded, one after the other
	ends  []int  // where each ends in texts
}

func newDrawn(c *Ctx, p randomQuery, n int) *drawn {
	return &drawn{count: p.count, proto: c.Proto, with: p.withValues, ends: make([]int, 0, n)}
}

// add adds an element of the collection, and what the query wants beside it.
func (d *drawn) add(element, value resp.Value) {
	switch {
	case d.with && d.proto == resp.RESP3:
		pair := resp.Array(element, value)
		d.texts = resp.Append(d.texts, &pair, d.proto)
	case d.with:
		d.texts = resp.Append(d.texts, &element, d.proto)
		d.texts = resp.Append(d.texts, &value, d.proto)
	default:
		d.texts = resp.Append(d.texts, &element, d.proto)
	}
	d.ends = append(d.ends, len(d.texts))
}

// reply returns the reply, in blocks if it is a part of another one or may be cut.
func (d *drawn) reply(c *Ctx) resp.Value {
	if c.Mode.Is(MayStream) && !c.Out.Bounded() {
		return resp.Streamed(d)
	}
	bounded := boundedBlocks{out: &c.Out}
	if _, err := d.WriteTo(&bounded); err != nil {
		return resp.None
	}
	return resp.Streamed(&bounded.Blocks)
}

// boundedBlocks are blocks that fail to grow beyond what the reply may take.
type boundedBlocks struct {
	resp.Blocks
	out *Output
}

var errExceeded = errors.New("the reply is too long")

func (b *boundedBlocks) Write(p []byte) (int, error) {
	if !b.out.grow(len(p)) {
		b.Free()
		return 0, errExceeded
	}
	return b.Blocks.Write(p)
}

// WriteTo implements io.WriterTo for resp.Streamed.
func (d *drawn) WriteTo(w io.Writer) (n int64, err error) {
	elements := d.count
	if d.with && d.proto != resp.RESP3 {
		elements *= 2
	}
	block := resp.NewBlock()
	defer func() { resp.FreeBlock(block) }()
	block = resp.AppendHead(block, resp.KindArray, elements, d.proto)
	for i := int64(0); i < d.count && err == nil; {
		for ; i < d.count && len(block) < resp.BlockSize/2; i++ {
			at, start := rand.IntN(len(d.ends)), 0
			if at > 0 {
				start = d.ends[at-1]
			}
			block = append(block, d.texts[start:d.ends[at]]...)
		}
		var written int
		written, err = w.Write(block)
		n += int64(written)
		block = block[:0]
	}
	return n, err
}
