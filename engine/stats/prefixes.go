package stats

import (
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands/rl"
)

// Prefixes are the prefixes of rl-stats-prefix with their decisions. Its methods may be
// called concurrently. It implements commands.PrefixIndex.
//
// The prefixes are sorted, each with the longest other one that it begins with, so that
// the longest prefix of a key is found by one binary search and a few steps back.
type Prefixes struct {
	rows []prefixRow
	text string // the names as SetPrefixes was given them, joined
}

type prefixRow struct {
	name   string
	outer  int // -1: none
	counts *prefixCounts
}

type prefixCounts [decisionShards]decisionCounts

// newPrefixes returns the prefixes with these names. Those that are in old, which may be
// nil, keep their counts. It returns nil if there are no names.
func newPrefixes(names []string, old *Prefixes) *Prefixes {
	if len(names) == 0 {
		return nil
	}
	p := &Prefixes{text: strings.Join(names, "\x00")}
	for _, name := range slices.Sorted(slices.Values(names)) {
		row := prefixRow{name: name, outer: len(p.rows) - 1}
		for row.outer >= 0 && !strings.HasPrefix(name, p.rows[row.outer].name) {
			row.outer = p.rows[row.outer].outer
		}
		if i := old.find(name); i >= 0 {
			row.counts = old.rows[i].counts
		} else {
			row.counts = &prefixCounts{}
			for i := range row.counts {
				row.counts[i].init()
			}
		}
		p.rows = append(p.rows, row)
	}
	return p
}

// SetPrefixes sets rl-stats-prefix and returns the prefixes, which keep their counts while they are in it, or
// nil. It must not be called concurrently.
func (s *Stats) SetPrefixes(names []string) *Prefixes {
	old := s.prefixes.Load()
	if len(names) > 0 && old != nil && strings.Join(names, "\x00") == old.text {
		return old
	}
	s.prefixes.Store(newPrefixes(names, old))
	return s.prefixes.Load()
}

// DecisionsByPrefix returns the decisions by prefix, by what has none, and the totals. It reads the
// prefixes first: the sum of all is never above the totals by algorithm.
func (s *Stats) DecisionsByPrefix() (prefixes []PrefixDecisions, none, all []rl.Decisions) {
	prefixes = s.prefixes.Load().decisions()
	all = s.Decisions()
	none = append(none, all...)
	for i := range prefixes {
		for by := range prefixes[i].By {
			none[by].Subtract(&prefixes[i].By[by])
		}
	}
	return prefixes, none, all
}

// find returns the number of the prefix called name, or -1.
func (p *Prefixes) find(name string) int {
	if p == nil {
		return -1
	}
	return slices.IndexFunc(p.rows, func(r prefixRow) bool { return r.name == name })
}

// Len implements commands.PrefixIndex.
func (p *Prefixes) Len() int { return len(p.rows) }

// Find implements commands.PrefixIndex.
func (p *Prefixes) Find(key []byte) int {
	low, high := 0, len(p.rows)
	for low < high {
		if middle := (low + high) / 2; p.rows[middle].name <= string(key) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	i := low - 1
	for i >= 0 && !hasPrefix(key, p.rows[i].name) {
		i = p.rows[i].outer
	}
	return i
}

func hasPrefix(key []byte, prefix string) bool {
	return len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix
}

// Add adds a session's decisions and zeroes them.
func (p *Prefixes) Add(session int64, t *rl.PrefixTally) {
	t.Drain(func(prefix int, by rl.Decider, d *rl.Decisions) {
		p.rows[prefix].counts[session%decisionShards].by[by].add(d)
	})
}

// reset sets the counts to zero.
func (p *Prefixes) reset() {
	for i := range p.rows {
		for j := range p.rows[i].counts {
			p.rows[i].counts[j].reset()
		}
	}
}

// PrefixDecisions are the decisions under one prefix.
type PrefixDecisions struct {
	Prefix string
	By     []rl.Decisions // by rl.Decider
}

// decisions returns the decisions of all prefixes, sorted by prefix. p may be nil.
func (p *Prefixes) decisions() (all []PrefixDecisions) {
	if p == nil {
		return nil
	}
	for i := range p.rows {
		all = append(all, PrefixDecisions{p.rows[i].name, sumDecisions(p.rows[i].counts[:])})
	}
	return all
}
