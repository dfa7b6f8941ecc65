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

var bucketsAlgorithm = algorithm{
	name: "BUCKETS", typed: isHash, foreign: errRLForeignHash,
	holds: func(c *Ctx, n *store.Node) bool {
		_, ok := c.bucketsOf(store.HashOf(n))
		return ok
	},
	allow: allowBuckets,
	validate: func(_ *Ctx, a *allowCall) error {
		if err := limiter.ValidateQuota(a.quotas[0], a.Call); err != nil {
			return err
		}
		return limiter.ValidateBuckets(a.param)
	},
	param:  &algoParam{"n", errRLBucketsMissing, errRLBucketsNumber},
	refund: refundBuckets,
	info: func(c *Ctx, n *store.Node) keyInfo {
		h := store.HashOf(n)
		b, _ := c.bucketsOf(h)
		expireAtMs, _ := n.Value.ExpireAtMs()
		return keyInfo{
			used:   resp.Int(b.Used(c.NowMs, expireAtMs)),
			oldest: resp.Int(b.Oldest()), newest: resp.Int(b.Newest()),
			more: append(c.Values(4), resp.Bulk("width_ms"), resp.Int(b.WidthMs), resp.Bulk("buckets"), resp.Int(b.N)),
		}
	},
	units: func(c *Ctx, n *store.Node) (units int64) {
		b, _ := c.bucketsOf(store.HashOf(n))
		for _, count := range b.Counts {
			units += count
		}
		return units
	},
}

func isHash(n *store.Node) bool { return store.HashOf(n) != nil }

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
			return d, c.refuseState(n, "BUCKETS")
		case b.WidthMs != widthMs || b.N != a.param:
			return d, resp.Error(fmt.Sprintf("ERR key holds BUCKETS state of %d buckets of %dms, not %d of %dms",
				b.N, b.WidthMs, a.param, widthMs))
		}
		expireAtMs, _ = n.Value.ExpireAtMs()
	}
	d = b.Decide(c.NowMs, expireAtMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		b.Apply(c.NowMs, &d)
		c.setBuckets(c.Args[1], n, &b, d.ExpireAtMs)
	}
	return d, resp.None
}

// refundBuckets is RL.REFUND.
func refundBuckets(c *Ctx, n *store.Node, count int64) resp.Value {
	b, _ := c.bucketsOf(store.HashOf(n))
	expireAtMs, _ := n.Value.ExpireAtMs()
	removed, expireAtMs := b.TakeBack(c.NowMs, expireAtMs, count)
	switch {
	case removed == 0:
	case len(b.Counts) == 0:
		c.DB.Delete(n)
		c.didCall("DEL", c.Args[1])
	default:
		c.setBuckets(c.Args[1], n, &b, expireAtMs)
	}
	return resp.Int(removed)
}
