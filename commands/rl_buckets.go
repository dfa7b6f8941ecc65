package commands

import (
	"fmt"
	"strconv"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
)

// The state of BUCKETS is a hash: width, the milliseconds of a bucket; n, how
// many make a window; newest, the millisecond in which the newest begins; and
// counts, the units in each, newest first, with one space between.
var (
	fieldWidth  = []byte("width")
	fieldN      = []byte("n")
	fieldNewest = []byte("newest")
	fieldCounts = []byte("counts")
)

// bucketsOf reads a hash as the state of BUCKETS. Its counts lie in scratch
// space, good until the next bucketsOf, and have room for one bucket more.
func (c *Ctx) bucketsOf(h *hash.Hash) (b limiter.Buckets, ok bool) {
	if h.Len() != 4 {
		return b, false
	}
	for _, f := range [...]struct {
		name []byte
		to   *int64
	}{{fieldWidth, &b.WidthMs}, {fieldN, &b.N}, {fieldNewest, &b.NewestMs}} {
		text, _ := h.Get(f.name)
		if *f.to, ok = parseInt(text); !ok {
			return b, false
		}
	}
	if b.N < 1 || b.N > limiter.MaxBuckets {
		return b, false
	}
	text, _ := h.Get(fieldCounts)
	b.Counts = c.counts(int(b.N) + 1)
	for more := true; more; {
		end := 0
		for end < len(text) && text[end] != ' ' {
			end++
		}
		count, ok := parseInt(text[:end])
		if !ok || len(b.Counts) == cap(b.Counts) {
			return b, false
		}
		b.Counts = append(b.Counts, count)
		if more = end < len(text); more {
			text = text[end+1:]
		}
	}
	return b, b.Valid()
}

// setBuckets writes the state of BUCKETS under a key; n is the key's node, nil
// where there is none.
func (c *Ctx) setBuckets(name []byte, n *store.Node, b *limiter.Buckets, expireAtMs int64) {
	var h *hash.Hash
	var before bucketsBefore
	if n == nil {
		h = &hash.Hash{}
		n = c.DB.Put(name, h)
		c.setField(h, fieldWidth, b.WidthMs)
		c.setField(h, fieldN, b.N)
	} else {
		h = store.HashOf(n)
		if c.Group != nil {
			before = bucketsAt(n, h)
		}
	}
	c.setField(h, fieldNewest, b.NewestMs)
	c.setField(h, fieldCounts, b.Counts...)
	h.NoteEncoding(c.Settings.HashMaxListpackCount, c.Settings.HashMaxListpackValue)
	if expireAtMs > 0 {
		c.DB.ExpireAt(n, expireAtMs)
	}
	c.DB.Touch(n)
	if c.Group != nil {
		c.didBuckets(name, n, h, before)
	}
}

// setField spells numbers into scratch space and sets a field to them.
func (c *Ctx) setField(h *hash.Hash, field []byte, numbers ...int64) {
	text := c.bytes[len(c.bytes):]
	for i, number := range numbers {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, number, 10)
	}
	h.Set(field, text)
	if cap(text) > cap(c.bytes)-len(c.bytes) {
		c.bytes = text[:0] // it outgrew the scratch space: that is the new one
	}
}

// allowBuckets is RL.ALLOW with ALGO BUCKETS.
func allowBuckets(c *Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n := c.DB.Find(c.Args[1], c.NowMs)
	widthMs := limiter.BucketWidth(a.quotas[0].WindowMs, a.param)
	var b limiter.Buckets
	expireAtMs := int64(0)
	if n == nil {
		b = limiter.Buckets{WidthMs: widthMs, N: a.param, Counts: c.counts(int(a.param) + 1)}
	} else {
		h := store.HashOf(n)
		ok := h != nil
		if ok {
			b, ok = c.bucketsOf(h)
		}
		switch {
		case !ok:
			return d, c.refuseState(n, algoBuckets)
		case b.WidthMs != widthMs || b.N != a.param:
			return d, resp.Error(fmt.Sprintf("ERR key holds BUCKETS %d of %d ms state, not BUCKETS %d of %d ms", b.N, b.WidthMs, a.param, widthMs))
		}
		expireAtMs, _ = n.Value.ExpireAtMs()
	}
	d = b.Decide(c.NowMs, expireAtMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		b.Add(c.NowMs, d.Units)
		c.setBuckets(c.Args[1], n, &b, d.ExpireAtMs)
	}
	return d, resp.None
}
