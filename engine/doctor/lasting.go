package doctor

import "github.com/zlimit/zlimit/store"

// A lasting key is one that a limiter has changed and that had no deadline then.
type lasting struct {
	hash     uint64 // 0: there is none
	sinceMs  int64  // when it was first seen without a deadline
	reported bool
	lost     bool // it had a deadline before
	db       uint8
	kind     store.Type // of its value
	nameLen  uint8
	name     [maxLastingName]byte
	rule     *rule
	by       actor
}

const (
	maxLastingName = 96   // longer names are not remembered
	graceMs        = 1000 // for the EXPIRE after INCR
)

// keyWithoutExpiry finds keys whose EXPIRE has not come within a second, if those of other
// keys with the same pattern have: of counters one other key, of other types eight times as
// many as have none. It also finds counters whose name says that they are for one slice of
// time, keys whose deadline was removed, and sorted sets of a window: they belong to one
// caller each.
func keyWithoutExpiry(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	d, m := o.client.doctor, o.client.memory
	c := &o.shard.lasting[o.hash%uint64(len(o.shard.lasting))]
	change, lost := o.change, false
	switch {
	case change.dates:
		if c.hash == o.hash && o.reply.Int() == 1 {
			m.patterns.add(d.pattern(o.key, uint8(c.kind)), true)
			c.hash = 0
		}
		return
	case change.drops:
		if lost = o.losesDeadline(); !lost {
			return
		}
	}
	switch {
	case c.hash == o.hash && !lost:
		if o.creates() {
			c.sinceMs, c.reported = o.ctx.NowMs, false
		}
		c.examine(d, m, o.ctx.Store, o.ctx.NowMs)
		return
	case c.hash != o.hash && c.hash != 0 && !c.reported && o.ctx.NowMs-c.sinceMs <= graceMs:
		return // it may still get its deadline
	case c.hash != o.hash && c.hash != 0:
		c.examine(d, m, o.ctx.Store, o.ctx.NowMs)
	}
	if len(o.key) > maxLastingName {
		return
	}
	if deadlineOf(o.ctx.DB, o.key, o.ctx.NowMs) != noDeadline {
		return
	}
	*c = lasting{
		hash: o.hash, sinceMs: o.ctx.NowMs, lost: lost, db: uint8(o.ctx.DBIndex), nameLen: uint8(len(o.key)),
		kind: change.kind, rule: r, by: o.by(),
	}
	copy(c.name[:], o.key)
}

// A change is what a command does to a key that a limiter uses.
type change struct {
	kind  store.Type // that it leaves
	dates bool       // it sets a deadline
	drops bool       // it removes the deadline, or may
}

var changes = map[string]change{
	"incr": {}, "incrby": {}, "decr": {}, "decrby": {},
	"set": {drops: true}, "getset": {drops: true}, "persist": {drops: true},
	"expire": {dates: true}, "pexpire": {dates: true}, "expireat": {dates: true}, "pexpireat": {dates: true},
	"zadd": {kind: store.TypeZSet}, "sadd": {kind: store.TypeSet},
	"hset": {kind: store.TypeHash}, "hincrby": {kind: store.TypeHash},
	"lpush": {kind: store.TypeList}, "rpush": {kind: store.TypeList},
}

// losesDeadline reports whether a counter that had a deadline has none after the call.
func (o *call) losesDeadline() bool {
	c := &o.shard.dated[o.hash%uint64(len(o.shard.dated))]
	if c.hash != o.hash || c.deadlineMs < o.ctx.NowMs ||
		deadlineOf(o.ctx.DB, o.key, o.ctx.NowMs) != noDeadline {
		return false
	}
	c.deadlineMs = 0
	return true
}

// creates reports whether an INCR has created its key.
func (o *call) creates() bool {
	by := int64(1)
	switch o.cmd.Name {
	case "incrby", "decrby":
		by, _ = store.ParseInt(o.args[2])
	case "incr", "decr":
	default:
		return false
	}
	return o.reply.Int() == by || o.reply.Int() == -by
}

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

// examine decides about a key after the time that its EXPIRE may take. It requires the
// shard of the key, or that hash is 0.
func (c *lasting) examine(d *Doctor, m *memory, s *store.Store, nowMs int64) {
	if c.hash == 0 || c.reported || nowMs-c.sinceMs <= graceMs {
		return
	}
	key := c.name[:c.nameLen]
	state := deadlineOf(s.DB(int(c.db)), key, nowMs)
	if state == noKey {
		c.hash = 0
		return
	}
	pattern := d.pattern(key, uint8(c.kind))
	m.patterns.add(pattern, state == hasDeadline)
	if state == hasDeadline || !c.wrong(m, pattern) {
		c.hash = 0
		return
	}
	c.reported = true
	d.findings.add(c.rule, key, c.by, 1, nowMs)
}

// othersExpire is how many keys of a pattern have a deadline for one that has none, if
// that one is a mistake.
const othersExpire = 8

// wrong reports whether a key without a deadline is a mistake.
func (c *lasting) wrong(m *memory, pattern uint64) bool {
	dated, undated := m.patterns.counts(pattern)
	key := c.name[:c.nameLen]
	switch {
	case c.lost:
		return true
	case c.kind == store.TypeString:
		return dated > 0 || hasSlice(key, c.sinceMs)
	case dated >= othersExpire*undated:
		return true
	}
	shard := &m.shards[store.ShardIndex(key)]
	w := shard.window(c.hash)
	return w != nil && w.source == byClient && w.counted && isOneOfMany(key)
}
