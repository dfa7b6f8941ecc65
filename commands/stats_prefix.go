package commands

// A PrefixIndex finds the prefix of rl-stats-prefix under which a key's decisions are
// counted.
type PrefixIndex interface {
	// Len returns the number of prefixes.
	Len() int
	// Find returns the number of the longest prefix that key begins with, or -1.
	Find(key []byte) int
}

// PrefixTally holds counts of decisions by prefix. Their prefixes are those of one
// PrefixIndex: the session adds them to the statistics before its settings change.
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

// prefixDecisions returns where to count decisions of a key, or nil if that is nowhere.
func (c *Ctx) prefixDecisions(by Decider, key []byte) *Decisions {
	p := c.Settings.StatsPrefixes
	if p == nil {
		return nil
	}
	i := p.Find(key)
	if i < 0 {
		return nil
	}
	return c.tally().Prefixes.at(i*NumDeciders()+int(by), p.Len()*NumDeciders())
}
