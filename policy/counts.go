package policy

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Counts are the decisions under one name. Any goroutine may add to them.
type Counts struct {
	name   string
	domain string
	of     string // the policy whose descriptors' values the name is made of; "": the name is a policy's
	allow  atomic.Int64
	deny   atomic.Int64
	shadow atomic.Int64
	units  atomic.Int64
}

// Name returns what is counted: a policy's name, or one made of the descriptor's values.
func (c *Counts) Name() string { return c.name }

// Domain returns the name of the domain that the name belongs to.
func (c *Counts) Domain() string { return c.domain }

// Tally is what was counted at one instant.
type Tally struct {
	Allowed, Denied int64
	Shadow          int64 // admitted although the limit denied it, in shadow or quota mode
	Units           int64 // that were admitted
}

// Tally returns what was counted.
func (c *Counts) Tally() Tally {
	return Tally{c.allow.Load(), c.deny.Load(), c.shadow.Load(), c.units.Load()}
}

// Allow counts an admitted decision. The sum of the units saturates.
func (c *Counts) Allow(units int64) {
	c.allow.Add(1)
	if c.units.Add(units) < 0 {
		c.units.Store(math.MaxInt64)
	}
}

// Deny counts a denied decision.
func (c *Counts) Deny() { c.deny.Add(1) }

// Shadowed counts a decision that would have been a denial.
func (c *Counts) Shadowed() { c.shadow.Add(1) }

// MaxDetailed is the largest number of names made of descriptors' values. Decisions under more are counted
// for their policies.
const MaxDetailed = 10_000

// A Registry has the counts of an engine's policies, by name. They survive a reload, except those of policies
// that are gone. Its methods may be called concurrently.
type Registry struct {
	mu       sync.RWMutex
	byName   map[string]*Counts // protected by mu, as are the fields below
	detailed []*Counts          // of byName, those made of descriptors' values, as they came
	missed   int64
}

// Find returns the counts under a name, or nil. A nil Registry has none.
func (r *Registry) Find(name []byte) *Counts {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byName[string(name)]
}

// AllowUnlimited counts the decision about an unlimited limit under a name: it admits all units. Without
// units it is not counted, as for other limits.
func (r *Registry) AllowUnlimited(name []byte, units int64) {
	if c := r.Find(name); c != nil && units > 0 {
		c.Allow(units)
	}
}

// detail returns the counts under a name made of a descriptor's values, or nil if there are too many of them.
func (r *Registry) detail(p *Policy, name []byte) *Counts {
	if c := r.Find(name); c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.byName[string(name)]; c != nil {
		return c
	}
	if len(r.detailed) >= MaxDetailed || len(name) > maxDetailedName {
		r.missed++
		return nil
	}
	c := &Counts{name: string(name), domain: p.Domain.Name, of: p.Name}
	if r.byName == nil {
		r.byName = make(map[string]*Counts)
	}
	r.byName[c.name] = c
	r.detailed = append(r.detailed, c)
	return c
}

// maxDetailedName is the longest name that is made of a descriptor's values.
const maxDetailedName = 512

// adopt gives the policies their counts: those under the same names, if there are any. Names made of values
// for policies that are gone, or are not counted by them any more, make room.
func (r *Registry) adopt(policies []*Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	byName := make(map[string]*Counts, len(policies)+len(r.detailed))
	dynamic := make(map[string]bool)
	for _, p := range policies {
		if p.dynamic {
			dynamic[p.Name] = true
		}
	}
	r.detailed = slices.DeleteFunc(slices.Clone(r.detailed), func(c *Counts) bool { return !dynamic[c.of] })
	for _, c := range r.detailed {
		byName[c.name] = c
	}
	for _, p := range policies {
		if p.counts = byName[p.Name]; p.counts != nil {
			continue
		}
		if p.counts = r.byName[p.Name]; p.counts == nil {
			p.counts = &Counts{name: p.Name, domain: p.Domain.Name}
		}
		byName[p.Name] = p.counts
	}
	r.byName = byName
}

// Detailed returns the counts under names made of descriptors' values, at most max of them, and how many
// more decisions were counted for their policies because there were too many names.
func (r *Registry) Detailed(most int) (counts []*Counts, missed int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return append(counts, r.detailed[:min(most, len(r.detailed))]...), r.missed
}
