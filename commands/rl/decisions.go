package rl

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/store"
)

// A Decider identifies a pair of a rate limit command and an algorithm. It is an index
// into Session.Decisions.
type Decider int

type decider struct {
	command string
	by      *algorithm
}

// A decides is a command that decides with an algorithm: of several terms, with that of the binding one.
type decides int

const (
	allows decides = iota
	mallows
	reserves
	mreserves
	throttles
	checks
	numDecides
)

// deciding lists the commands and the algorithms that they have.
var deciding = [numDecides]struct {
	name string
	has  func(a *algorithm) bool
}{
	{"rl.allow", (*algorithm).inALGO},
	{"rl.mallow", func(a *algorithm) bool { return a.open != nil }},
	{"rl.reserve", (*algorithm).inALGO},
	{"rl.mreserve", func(a *algorithm) bool { return a.open != nil }},
	{"cl.throttle", func(a *algorithm) bool { return a.throttles }},
	{"rl.check", func(a *algorithm) bool { return a.open != nil }},
}

// deciders holds the pair of each Decider.
var deciders = func() (all []decider) {
	for command, d := range deciding {
		for _, a := range algorithms {
			if d.has(a) {
				a.deciders[command] = Decider(len(all))
				all = append(all, decider{d.name, a})
			}
		}
	}
	return all
}()

// NumDeciders returns the number of deciders, which are numbered from 0.
func NumDeciders() int { return len(deciders) }

// Command returns the name of the command.
func (d Decider) Command() string { return deciders[d].command }

// Algorithm returns the name of the algorithm, in lower case.
func (d Decider) Algorithm() string { return strings.ToLower(deciders[d].by.name) }

// Decisions counts decisions, one for each call that does not fail, whatever its cost
// and number of keys.
type Decisions struct {
	Allowed, Denied int64
	Peeked          int64 // calls with PEEK or COST 0
	Shadow          int64 // calls with SHADOW that would have been denied
	Units           int64 // granted, in all keys of a call

	Fullness Fullness // of what was allowed or denied
}

// IsZero reports whether nothing was counted.
func (d *Decisions) IsZero() bool { return d.Allowed|d.Denied|d.Peeked|d.Shadow|d.Units == 0 }

// Add adds o to d.
func (d *Decisions) Add(o *Decisions) {
	d.Allowed += o.Allowed
	d.Denied += o.Denied
	d.Peeked += o.Peeked
	d.Shadow += o.Shadow
	d.Units += o.Units
	for i, n := range o.Fullness.Buckets {
		d.Fullness.Buckets[i] += n
	}
	d.Fullness.Sum += o.Fullness.Sum
}

// Subtract subtracts o from d. What would be negative is 0.
func (d *Decisions) Subtract(o *Decisions) {
	d.Allowed = max(d.Allowed-o.Allowed, 0)
	d.Denied = max(d.Denied-o.Denied, 0)
	d.Peeked = max(d.Peeked-o.Peeked, 0)
	d.Shadow = max(d.Shadow-o.Shadow, 0)
	d.Units = max(d.Units-o.Units, 0)
	for i, n := range o.Fullness.Buckets {
		d.Fullness.Buckets[i] = max(d.Fullness.Buckets[i]-n, 0)
	}
	d.Fullness.Sum = max(d.Fullness.Sum-o.Fullness.Sum, 0)
}

// An outcome is what is counted of a decision.
type outcome struct {
	granted, units int64 // to the key, and in all keys
	peek           bool
	shadow         bool    // what is denied is answered as admitted
	fullness       float64 // after the decision, see fullness
}

func (d *Decisions) count(o outcome) {
	switch {
	case o.peek:
		d.Peeked++
		return
	case o.granted > 0:
		d.Allowed++
		d.Units += o.units
	case o.shadow:
		d.Shadow++
		return
	default:
		d.Denied++
	}
	d.Fullness.observe(o.fullness)
}

// FullnessBuckets is the number of buckets of a Fullness: up to 0.1, 0.2 and so on up to 1.
const FullnessBuckets = 10

// Fullness is a histogram of how full the limits of keys were after decisions about them.
type Fullness struct {
	Buckets [FullnessBuckets]int64 // not cumulative
	Sum     float64
}

// observe counts a decision after which the limit is full to f, from 0 to 1. A value on a
// bound belongs to the bucket below it.
func (h *Fullness) observe(f float64) {
	tenths := f * FullnessBuckets
	i := int(tenths)
	if i > 0 && float64(i) == tenths {
		i--
	}
	h.Buckets[min(i, FullnessBuckets-1)]++
	h.Sum += f
}

// PrefixTally holds counts of decisions by prefix. Their prefixes are those of one
// commands.PrefixIndex: the session adds them to the statistics before its settings change.
type PrefixTally struct {
	counts []prefixCount // those that are not zero
	slots  []uint16      // by prefix*NumDeciders + Decider: 1 + the index in counts, 0 for none
}

type prefixCount struct {
	slot int
	Decisions
}

// at returns the count of one of so many slots, to add to. It is valid until the next call.
func (t *PrefixTally) at(slot, of int) *Decisions {
	if len(t.slots) != of {
		t.slots = make([]uint16, of) // what there was is zero
	}
	if t.slots[slot] == 0 {
		t.counts = append(t.counts, prefixCount{slot: slot})
		t.slots[slot] = uint16(len(t.counts))
	}
	return &t.counts[t.slots[slot]-1].Decisions
}

// Drain calls fn with each count that is not zero, and zeroes it.
func (t *PrefixTally) Drain(fn func(prefix int, by Decider, d *Decisions)) {
	for i := range t.counts {
		n := &t.counts[i]
		fn(n.slot/NumDeciders(), Decider(n.slot%NumDeciders()), &n.Decisions)
		t.slots[n.slot] = 0
	}
	t.counts = t.counts[:0]
}

// markFullness records how full a key's limit is after a decision, for eviction by the
// policy limiter-aware. Under other policies it does nothing.
func markFullness(c *commands.Ctx, key []byte, d *limiter.Decision) {
	if c.Settings.LimiterAware {
		c.DB.SetFullness(key, stampOf(d.Allowed == 0, d.Used, d.Remaining), c.NowMs)
	}
}

// stampOf returns how full a limit is as a key's stamp has it. denied says that the last
// call was.
func stampOf(denied bool, used, remaining int64) uint8 {
	switch {
	case denied:
		return store.Denying
	case remaining <= 0:
		return store.Full
	}
	return uint8(1 + fullness(used, remaining)*(store.Full-1))
}

// fullness returns the used share of what a quota has room for, from 0 to 1. Under GCRA
// that room is the burst, not the limit.
func fullness(used, remaining int64) float64 {
	if remaining <= 0 {
		return 1
	}
	n := float64(max(used, 0))
	return n / (n + float64(remaining))
}
