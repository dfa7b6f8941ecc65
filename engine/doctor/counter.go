package doctor

import (
	"hash/maphash"
	"math"
	"sync/atomic"

	"github.com/zlimit/zlimit/store"
)

// A counter is a key that INCR has changed and that had no deadline then.
type counter struct {
	hash     uint64 // 0: there is none
	sinceMs  int64  // when it was first seen without a deadline
	reported bool
	db       uint8
	nameLen  uint8
	name     [maxCounterName]byte
	rule     *rule
	by       actor
}

const (
	maxCounterName = 96      // longer names are not remembered
	graceMs        = 1000    // for the EXPIRE after INCR
	expiringSize   = 1 << 10 // patterns that expiring remembers
)

// expiring are the patterns of counters that got a deadline, each in the place that its
// hash gives it.
type expiring [expiringSize]atomic.Uint64

// patternHash returns the hash of a key's pattern.
func (d *Doctor) patternHash(key []byte) uint64 {
	var room [2 * maxPattern]byte
	return maphash.Bytes(d.seed, appendPattern(room[:0], key))
}

func (e *expiring) add(pattern uint64)      { e[pattern%expiringSize].Store(pattern) }
func (e *expiring) has(pattern uint64) bool { return e[pattern%expiringSize].Load() == pattern }

// counterWithoutExpiry finds counters whose EXPIRE has not come within a second, if those
// of other keys with the same pattern have, or if the key's name says that the counter is
// for one slice of time. Counters that are meant to stay are neither.
func counterWithoutExpiry(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	d, m := o.client.doctor, o.client.memory
	c := &o.shard.counters[o.hash%uint64(len(o.shard.counters))]
	if o.cmd.Name != "incr" && o.cmd.Name != "incrby" {
		if c.hash == o.hash && o.reply.Int() == 1 {
			m.expiring.add(d.patternHash(o.key))
			c.hash = 0
		}
		return
	}
	switch {
	case c.hash == o.hash:
		if o.creates() {
			c.sinceMs, c.reported = o.ctx.NowMs, false
		}
		c.examine(d, m, o.ctx.Store, o.ctx.NowMs)
		return
	case c.hash != 0 && !c.reported && o.ctx.NowMs-c.sinceMs <= graceMs:
		return // it may still get its deadline
	case c.hash != 0:
		c.examine(d, m, o.ctx.Store, o.ctx.NowMs)
	}
	if len(o.key) > maxCounterName || !o.creates() && o.hasDeadline() {
		return
	}
	*c = counter{
		hash: o.hash, sinceMs: o.ctx.NowMs, db: uint8(o.ctx.DBIndex), nameLen: uint8(len(o.key)),
		rule: r, by: o.by(),
	}
	copy(c.name[:], o.key)
}

// creates reports whether an INCR has created its key.
func (o *call) creates() bool {
	by := int64(1)
	if o.cmd.Name == "incrby" {
		by, _ = store.ParseInt(o.args[2])
	}
	return o.reply.Int() == by
}

// hasDeadline reports whether the call's key expires, or does not exist.
func (o *call) hasDeadline() bool { return deadlineOf(o.ctx.DB, o.key, o.ctx.NowMs) != noDeadline }

// The values of deadlineOf.
type deadline uint8

const (
	noKey deadline = iota
	noDeadline
	hasDeadline
)

func deadlineOf(db *store.DB, key []byte, nowMs int64) deadline {
	n := db.View(key, nowMs)
	if n == nil {
		return noKey
	}
	if _, expires := n.Value.ExpireAtMs(); expires {
		return hasDeadline
	}
	return noDeadline
}

// examine decides about a counter after the time that its EXPIRE may take. It requires the
// shard of its key, or that hash is 0.
func (c *counter) examine(d *Doctor, m *memory, s *store.Store, nowMs int64) {
	if c.hash == 0 || c.reported || nowMs-c.sinceMs <= graceMs {
		return
	}
	key := c.name[:c.nameLen]
	switch deadlineOf(s.DB(int(c.db)), key, nowMs) {
	case noKey:
		c.hash = 0
		return
	case hasDeadline:
		m.expiring.add(d.patternHash(key))
		c.hash = 0
		return
	}
	if !hasSlice(key, c.sinceMs) && !m.expiring.has(d.patternHash(key)) {
		c.hash = 0
		return
	}
	c.reported = true
	d.findings.add(c.rule, key, c.by, 1, nowMs)
}

// slicesMs are the usual lengths of slices of time. A name may have the slice's start in
// seconds or milliseconds, or its number.
var slicesMs = [...]int64{
	1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
	1_800_000, 3_600_000, 21_600_000, 43_200_000, 86_400_000,
}

// hasSlice reports whether a name has the number or the start of the present slice of time.
func hasSlice(key []byte, nowMs int64) bool {
	for i := 0; i < len(key); {
		if key[i]-'0' > 9 {
			i++
			continue
		}
		n := int64(0)
		for ; i < len(key) && key[i]-'0' <= 9; i++ {
			if n < math.MaxInt64/100 {
				n = n*10 + int64(key[i]-'0')
			}
		}
		if isSlice(n, nowMs) {
			return true
		}
	}
	return false
}

func isSlice(n, nowMs int64) bool {
	const smallest = 100_000_000 // smaller numbers are too often ids that were counted up to there
	if n < smallest {
		return false
	}
	for _, length := range slicesMs {
		slice := nowMs / length
		if n == slice || n == slice*length/1000 || n == slice*length {
			return true
		}
	}
	return false
}
