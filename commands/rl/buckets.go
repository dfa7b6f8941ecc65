package rl

import (
	"cmp"
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
		_, ok := parseBuckets(&session(c).buckets, store.HashOf(n))
		return ok
	},
	open: openBuckets,
	validate: func(t *term) error {
		return cmp.Or(limiter.ValidateQuota(t.quotas[0], t.Call), limiter.ValidateBuckets(t.param))
	},
	errors: []errorReply{{limiter.ErrBuckets, resp.Error("ERR the number of BUCKETS must be from 1 to " +
		strconv.Itoa(limiter.MaxBuckets))}},
	param: &algoParam{
		name: "n", missing: commands.SyntaxError("ALGO BUCKETS needs a number"),
		wrong: resp.Error("ERR the number of BUCKETS is not an integer or out of range"), steps: true,
	},
	differs:   "%d buckets of %dms, not %d of %dms",
	validHeld: func(h *heldTerm) bool { return limiter.ValidateBuckets(h.param) == nil },
	moreInfo:  []string{"width_ms", "buckets"},
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		h := store.HashOf(n)
		b, _ := parseBuckets(&session(c).buckets, h)
		expireAtMs, _ := n.Value.ExpireAtMs()
		return keyInfo{
			used:   resp.Int(b.Used(c.NowMs, expireAtMs)),
			oldest: resp.Int(b.Oldest()), newest: resp.Int(b.Newest()),
			more: [2]int64{b.WidthMs, b.N},
		}
	},
	units: func(c *commands.Ctx, n *store.Node) (units int64) {
		b, _ := parseBuckets(&session(c).buckets, store.HashOf(n))
		for _, count := range b.Counts {
			units += count
		}
		return units
	},
}

func isHash(n *store.Node) bool { return store.HashOf(n) != nil }

// parseBuckets parses a hash as the state of BUCKETS. The counts are in scratch
// space, with capacity for one more bucket.
func parseBuckets(scratch *[]int64, h *hash.Hash) (b limiter.Buckets, ok bool) {
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
	b.Counts = counts(scratch, b.N)
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

// counts returns scratch space for the counts of n buckets, which is empty.
func counts(scratch *[]int64, n int64) []int64 {
	if int64(cap(*scratch)) <= n {
		*scratch = make([]int64, 0, n+1)
	}
	return (*scratch)[: 0 : n+1]
}

func saveBuckets(c *commands.Ctx, t *term, expireAtMs int64) {
	var h *hash.Hash
	var before bucketsBefore
	b := &t.state.buckets
	if t.node == nil {
		h = &hash.Hash{}
		t.node = c.DB.Put(t.name, h)
		setField(c, h, fieldWidth, b.WidthMs)
		setField(c, h, fieldN, b.N)
	} else {
		h = store.HashOf(t.node)
		if c.Group() != nil {
			before = bucketsAt(t.node, h)
		}
	}
	setField(c, h, fieldNewest, b.NewestMs)
	setField(c, h, fieldCounts, b.Counts...)
	h.NoteEncoding(c.Settings.HashMaxListpackCount, c.Settings.HashMaxListpackValue)
	if expireAtMs > 0 {
		c.DB.ExpireAt(t.node, expireAtMs)
	}
	c.DB.Touch(t.node)
	if c.Group() != nil {
		didBuckets(c, t.name, t.node, h, before)
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

// openBuckets fails if the key has other buckets than a call with this number of them; 0 stands
// for its own number, and a window of 0 for its own.
func openBuckets(_ *commands.Ctx, t *term) resp.Value {
	k, n, windowMs := &t.state, t.param, t.quotas[0].WindowMs
	k.open(t, &k.buckets, saveBuckets)
	if t.node == nil {
		k.buckets = limiter.Buckets{
			WidthMs: limiter.BucketWidth(windowMs, n), N: n, Counts: counts(&k.counts, n),
		}
		return resp.None
	}
	h := store.HashOf(t.node)
	ok := h != nil
	if ok {
		k.buckets, ok = parseBuckets(&k.counts, h)
	}
	if !ok {
		return errOtherState
	}
	b := &k.buckets
	if n == 0 {
		n = b.N
	}
	if widthMs := limiter.BucketWidth(windowMs, n); windowMs != 0 && (b.WidthMs != widthMs || b.N != n) {
		return t.algo.differ(b.N, b.WidthMs, n, widthMs)
	}
	return resp.None
}
