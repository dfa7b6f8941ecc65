package doctor

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// A Doctor has what was found in an engine. Its methods may be called concurrently unless
// they say otherwise.
type Doctor struct {
	memory   atomic.Pointer[memory] // nil: off
	seed     maphash.Seed
	seen     []seen // by the ID of a command
	findings findings
	next     int                    // the shard that Tick examines first
	ended    atomic.Pointer[Client] // see End
}

// seen is what there is to know of a command before it runs.
type seen struct {
	rules  []*rule // that look at it
	keyed  bool    // its first argument is a key
	hashed bool    // it runs a script named by its hash
	change change
}

// New returns a Doctor that is off, for the commands of a table.
func New(t *commands.Table) *Doctor {
	d := &Doctor{seed: maphash.MakeSeed(), seen: make([]seen, t.Len())}
	byName := make(map[string]*commands.Command)
	for _, c := range t.Declared() {
		byName[c.FullName()] = c
		d.seen[c.ID()].keyed = len(c.Keys) > 0 && c.Keys[0].First == 1 && !c.Keys[0].KeyNum
	}
	for i := range rules {
		r := &rules[i]
		for _, name := range r.commands {
			id := byName[name].ID()
			d.seen[id].rules = append(d.seen[id].rules, r)
		}
	}
	for _, name := range []string{"evalsha", "evalsha_ro"} {
		d.seen[byName[name].ID()].hashed = true
	}
	for name, c := range changes {
		d.seen[byName[name].ID()].change = c
	}
	d.findings.init()
	return d
}

// On reports whether the doctor looks at commands.
func (d *Doctor) On() bool { return d.memory.Load() != nil }

// Set turns the doctor on or off. Findings stay; what was remembered of keys is forgotten.
func (d *Doctor) Set(on bool) {
	switch {
	case !on:
		d.memory.Store(nil)
	case d.memory.Load() == nil:
		d.memory.CompareAndSwap(nil, new(memory))
	}
}

// Reset forgets the findings, and what was remembered of keys. The totals stay.
func (d *Doctor) Reset() {
	if old := d.memory.Load(); old != nil {
		d.memory.CompareAndSwap(old, new(memory))
	}
	d.findings.reset()
}

// Findings returns the findings, those with the highest counts first.
func (d *Doctor) Findings() []Finding { return d.findings.all() }

// Totals returns how often each problem was found since the start or ResetTotals.
func (d *Doctor) Totals() []Total { return d.findings.totals() }

// ResetTotals sets the totals to zero.
func (d *Doctor) ResetTotals() { d.findings.resetTotals() }

// Bytes returns about how many bytes keys and findings are remembered in.
func (d *Doctor) Bytes() int64 {
	n := d.findings.bytes()
	if d.On() {
		n += memoryBytes
	}
	return n
}

// shardsPerTick is how many shards a Tick examines.
const shardsPerTick = 8

// Tick examines what is remembered of keys, some shards at a time unless they are locked: what is missing
// there has no command that shows it. Ticks must not be concurrent.
func (d *Doctor) Tick(s *store.Store, nowMs int64) {
	m := d.memory.Load()
	if m == nil {
		return
	}
	for range shardsPerTick {
		shard := d.next
		d.next = (d.next + 1) % store.NumShards
		one := store.OneShard(shard)
		if !s.TryLock(one) {
			continue
		}
		keys := &m.shards[shard].lasting
		for i := range keys {
			keys[i].examine(d, m, s, nowMs)
		}
		s.Unlock(one)
	}
}

// memory is what rules remember while the doctor is on.
type memory struct {
	shards    [store.NumShards]shardMemory
	patterns  patterns
	lifetimes lifetimes
	keys      keysCalls
}

// shardMemory is what is remembered of the keys of one shard. The shard's lock protects
// it. A key has one place in each table, and displaces the key that had it.
type shardMemory struct {
	windows [64]window
	races   [32]race
	lasting [32]lasting
	dated   [32]dated
}
