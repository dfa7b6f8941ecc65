package rl

import (
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
)

// The state of BUCKETS is a hash: width is the length of a bucket in milliseconds,
// n the number of buckets in a window, newest the unix millisecond at which the
// newest bucket begins, and counts the units in each bucket, newest first,
// separated by one space.
var (
	fieldWidth  = []byte("width")
	fieldN      = []byte("n")
	fieldNewest = []byte("newest")
	fieldCounts = []byte("counts")
)

var bucketsAlgorithm = algorithm{
	name: "BUCKETS", redisType: "hash", hasType: isHash, foreignError: errForeignHash,
	hasState: func(c *commands.Ctx, n *store.Node) bool {
		_, ok := parseBuckets(c, store.HashOf(n))
		return ok
	},
	allow: allowBuckets,
	newState: func(a *allowCall) limiter.State {
		return &limiter.Buckets{
			WidthMs: limiter.BucketWidth(a.quotas[0].WindowMs, a.param), N: a.param,
			Counts: make([]int64, 0, a.param+1),
		}
	},
	validate: func(_ *commands.Ctx, a *allowCall) error {
		if err := limiter.ValidateQuota(a.quotas[0], a.Call); err != nil {
			return err
		}
		return limiter.ValidateBuckets(a.param)
	},
	subject: func(c *commands.Ctx, a *allowCall, n *store.Node) (limiter.Subject, int64, resp.Value) {
		b, expireAtMs, refusal := bucketsOf(c, n, a.quotas[0], a.param)
		return &b, expireAtMs, refusal
	},
	functionArgs: func(l *LimitCall) []int64 {
		q := l.Quotas[0]
		return []int64{q.Limit, q.WindowMs, l.Param, limiter.BucketWidth(q.WindowMs, l.Param)}
	},
	param:    &algoParam{"n", errBucketsMissing, errBucketsNumber, false},
	refund:   refundBuckets,
	moreInfo: []string{"width_ms", "buckets"},
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		h := store.HashOf(n)
		b, _ := parseBuckets(c, h)
		expireAtMs, _ := n.Value.ExpireAtMs()
		return keyInfo{
			used:   resp.Int(b.Used(c.NowMs, expireAtMs)),
			oldest: resp.Int(b.Oldest()), newest: resp.Int(b.Newest()),
			more: [2]int64{b.WidthMs, b.N},
		}
	},
	units: func(c *commands.Ctx, n *store.Node) (units int64) {
		b, _ := parseBuckets(c, store.HashOf(n))
		for _, count := range b.Counts {
			units += count
		}
		return units
	},
}

func isHash(n *store.Node) bool { return store.HashOf(n) != nil }

// parseBuckets parses a hash as the state of BUCKETS. The counts are in scratch
// space, valid until the next call, with capacity for one more bucket.
func parseBuckets(c *commands.Ctx, h *hash.Hash) (b limiter.Buckets, ok bool) {
	if h.Len() != 4 {
		return b, false
	}
	for _, f := range [...]struct {
		name []byte
		to   *int64
	}{{fieldWidth, &b.WidthMs}, {fieldN, &b.N}, {fieldNewest, &b.NewestMs}} {
		text, _ := h.Get(f.name)
		if *f.to, ok = store.ParseInt(text); !ok {
			return b, false
		}
	}
	if b.N < 1 || b.N > limiter.MaxBuckets {
		return b, false
	}
	text, _ := h.Get(fieldCounts)
	b.Counts = session(c).counts(int(b.N) + 1)
	for more := true; more; {
		end := 0
		for end < len(text) && text[end] != ' ' {
			end++
		}
		count, ok := store.ParseInt(text[:end])
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

// setBuckets stores the state of BUCKETS in a key; n is nil if it does not exist.
func setBuckets(c *commands.Ctx, name []byte, n *store.Node, b *limiter.Buckets, expireAtMs int64) {
	var h *hash.Hash
	var before bucketsBefore
	if n == nil {
		h = &hash.Hash{}
		n = c.DB.Put(name, h)
		setField(c, h, fieldWidth, b.WidthMs)
		setField(c, h, fieldN, b.N)
	} else {
		h = store.HashOf(n)
		if c.Group() != nil {
			before = bucketsAt(n, h)
		}
	}
	setField(c, h, fieldNewest, b.NewestMs)
	setField(c, h, fieldCounts, b.Counts...)
	h.NoteEncoding(c.Settings.HashMaxListpackCount, c.Settings.HashMaxListpackValue)
	if expireAtMs > 0 {
		c.DB.ExpireAt(n, expireAtMs)
	}
	c.DB.Touch(n)
	if c.Group() != nil {
		didBuckets(c, name, n, h, before)
	}
}

// setField sets a field to numbers, which it formats in scratch space.
func setField(c *commands.Ctx, h *hash.Hash, field []byte, numbers ...int64) {
	s := session(c)
	text := s.text[:0]
	for i, number := range numbers {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, number, 10)
	}
	h.Set(field, text)
	s.text = text
}

// bucketsOf returns the state of BUCKETS in a key; n is nil if it does not exist. The key
// must have the buckets that a call with this number of them uses; 0 stands for its own
// number.
func bucketsOf(c *commands.Ctx, n *store.Node, q limiter.Quota, buckets int64) (
	b limiter.Buckets, expireAtMs int64, refusal resp.Value,
) {
	if n == nil {
		b = limiter.Buckets{
			WidthMs: limiter.BucketWidth(q.WindowMs, buckets), N: buckets,
			Counts: session(c).counts(int(buckets) + 1),
		}
		return b, 0, resp.None
	}
	h := store.HashOf(n)
	ok := h != nil
	if ok {
		b, ok = parseBuckets(c, h)
	}
	if !ok {
		return b, 0, errOtherState
	}
	if buckets == 0 {
		buckets = b.N
	}
	if widthMs := limiter.BucketWidth(q.WindowMs, buckets); b.WidthMs != widthMs || b.N != buckets {
		return b, 0, BucketsReply(b.N, b.WidthMs, buckets, widthMs)
	}
	expireAtMs, _ = n.Value.ExpireAtMs()
	return b, expireAtMs, resp.None
}

func allowBuckets(c *commands.Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n := c.DB.Find(c.Args[1], c.NowMs)
	b, expireAtMs, refusal := bucketsOf(c, n, a.quotas[0], a.param)
	if refusal.IsError() {
		return d, refusal
	}
	d = b.Decide(c.NowMs, expireAtMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		if n == nil {
			if refusal = reserve(c, c.Args[1]); refusal.IsError() {
				return d, refusal
			}
		}
		b.Apply(c.NowMs, &d)
		setBuckets(c, c.Args[1], n, &b, d.ExpireAtMs)
	}
	return d, resp.None
}

func refundBuckets(c *commands.Ctx, n *store.Node, count int64) resp.Value {
	b, _ := parseBuckets(c, store.HashOf(n))
	expireAtMs, _ := n.Value.ExpireAtMs()
	removed, expireAtMs := b.Refund(c.NowMs, expireAtMs, count)
	switch {
	case removed == 0:
	case len(b.Counts) == 0:
		c.DB.Delete(n)
		c.DidCall("DEL", c.Args[1])
	default:
		setBuckets(c, c.Args[1], n, &b, expireAtMs)
	}
	return resp.Int(removed)
}
