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
	counts  []Decisions // by prefix*NumDeciders + Decider
	touched []int       // the counts that are not zero
}

// at returns a count to add to, which then must not be zero.
func (t *PrefixTally) at(i, of int) *Decisions {
	if len(t.counts) != of {
		t.counts = make([]Decisions, of) // what there was is zero
	}
	d := &t.counts[i]
	if *d == (Decisions{}) {
		t.touched = append(t.touched, i)
	}
	return d
}

// Drain calls fn with each count that is not zero, and zeroes it.
func (t *PrefixTally) Drain(fn func(prefix int, by Decider, d *Decisions)) {
	for _, i := range t.touched {
		fn(i/NumDeciders(), Decider(i%NumDeciders()), &t.counts[i])
		t.counts[i] = Decisions{}
	}
	t.touched = t.touched[:0]
}

// merge adds o to t and clears o.
func (t *PrefixTally) merge(o *PrefixTally) {
	for _, i := range o.touched {
		t.at(i, len(o.counts)).Add(&o.counts[i])
		o.counts[i] = Decisions{}
	}
	o.touched = o.touched[:0]
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
	return c.Tally.Prefixes.at(i*NumDeciders()+int(by), p.Len()*NumDeciders())
}
