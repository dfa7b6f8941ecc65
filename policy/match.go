package policy

import "strings"

// An Entry is a key and its value. A descriptor is a list of them.
type Entry struct{ Key, Value []byte }

// A match is the policy of a descriptor, with what its key and its name are made of. The Matcher that made it
// reuses it.
type match struct {
	policy *Policy   // nil: none
	path   []matched // of the entries up to where the match ended
	shares bool      // an entry of the path has share_threshold
}

// matched is how one entry matched.
type matched struct {
	node *node
	// wildcard is the value of the file, with '*', if a wildcard matched; "": another did.
	wildcard string
	valued   bool // the entry's value took part in the match
}

// A Matcher has the scratch space of matching. Its zero value is ready. It belongs to one goroutine.
type Matcher struct {
	text    []byte
	path    []matched
	arena   []byte // names and numbers of the calls
	words   [][]byte
	limits  []Limit
	entries []Entry
	one     [1]Descriptor
}

// match finds the policy of a descriptor. At each level the child with the entry's key and value comes first,
// then wildcards in the order of the file, then the child with the key only. The policy must be as deep as
// the descriptor.
func (m *Matcher) match(d *Domain, entries []Entry) (found match) {
	m.path = m.path[:0]
	at := &d.root
	for i, e := range entries {
		m.text = append(append(append(m.text[:0], e.Key...), '_'), e.Value...)
		next, wildcard := at.children[string(m.text)], ""
		valued := next != nil
		if next == nil && len(at.wildcards) > 0 {
			if next = at.wild(m.text); next != nil {
				valued, wildcard = true, next.value
				found.shares = found.shares || next.shared
			}
		}
		if next == nil {
			next = at.children[string(e.Key)]
		}
		if next == nil {
			break
		}
		m.path = append(m.path, matched{next, wildcard, valued})
		if i == len(entries)-1 {
			found.policy = next.policy
		}
		if len(next.children) == 0 {
			break
		}
		at = next
	}
	found.path = m.path
	if found.policy == nil {
		found.shares = false
	}
	return found
}

// wild returns the first child in the file that ends with '*' and what precedes text, or nil.
func (n *node) wild(text []byte) *node {
	var best ranked
	for i := range n.wildcards {
		w := &n.wildcards[i]
		if w.length > len(text) {
			continue
		}
		if c, ok := w.nodes[string(text[:w.length])]; ok && (best.node == nil || c.at < best.at) {
			best = c
		}
	}
	return best.node
}

// addWildcard adds a child whose composite key ends with '*'.
func (n *node) addWildcard(key string, child *node) {
	at := 0
	for i := range n.wildcards {
		at += len(n.wildcards[i].nodes)
	}
	prefix := strings.TrimSuffix(key, "*")
	for i := range n.wildcards {
		if w := &n.wildcards[i]; w.length == len(prefix) {
			w.nodes[prefix] = ranked{child, at, key}
			return
		}
	}
	n.wildcards = append(n.wildcards, wildcard{len(prefix), map[string]ranked{prefix: {child, at, key}}})
}

// appendKey appends the name of the key of a descriptor: the domain, then the key and the value of each
// entry, with '_' between. Values, which clients choose, are escaped, so that no two descriptors share a key;
// the value of a wildcard with share_threshold is that of the file. A domain that counts all or nothing is a
// hash tag. unit, if valid, comes last.
func (m *match) appendKey(b []byte, d *Domain, entries []Entry, unit Unit) []byte {
	if d.All {
		b = append(appendEscaped(append(b, '{'), d.Name, keyUnsafe), '}')
	} else {
		b = appendEscaped(b, d.Name, keyUnsafe)
	}
	for i, e := range entries {
		b = append(appendEscaped(append(b, '_'), e.Key, keyUnsafe), '_')
		if m.policy != nil && m.path[i].shares() {
			b = appendEscaped(b, m.path[i].wildcard, valueUnsafe)
		} else {
			b = appendEscaped(b, e.Value, valueUnsafe)
		}
	}
	if unit.Valid() {
		b = append(append(b, '_'), unit.String()...)
	}
	return b
}

func (p *matched) shares() bool { return p.wildcard != "" && p.node.shared }

// Bytes that are escaped in names of keys: braces, since what is between them decides the slot, and in values
// also the separator.
const (
	keyUnsafe   = "%{}"
	valueUnsafe = "%{}_"
)

func appendEscaped[T string | []byte](b []byte, text T, unsafe string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		if c := text[i]; strings.IndexByte(unsafe, c) >= 0 {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// appendName appends the name under which a decision is counted, as Envoy's rate limit service names its
// statistics.
func (m *match) appendName(b []byte, d *Domain, entries []Entry) []byte {
	p := m.policy
	if !p.dynamic {
		return append(b, p.Name...)
	}
	b = append(b, d.Name...)
	for i, e := range entries {
		b = append(append(b, '.'), e.Key...)
		if value := m.shownValue(i, e); len(value) > 0 {
			b = append(append(b, '_'), value...)
		} else if p.Detailed && !m.shares {
			b = append(b, '_')
		}
	}
	return b
}

// shownValue returns the value of an entry in the name of what is counted.
func (m *match) shownValue(i int, e Entry) []byte {
	at := &m.path[i]
	switch {
	case at.shares():
		return []byte(at.wildcard)
	case m.policy.Detailed:
		return e.Value
	case at.wildcard != "":
		if at.node.valueMetric {
			return e.Value
		}
		return []byte(at.wildcard)
	case at.valued || at.node.valueMetric:
		return e.Value
	}
	return nil
}

// appendOverrideName appends the name under which a decision with a limit of its own is counted.
func appendOverrideName(b []byte, d *Domain, entries []Entry) []byte {
	b = append(b, d.Name...)
	for _, e := range entries {
		b = append(append(b, '.'), e.Key...)
		if len(e.Value) > 0 {
			b = append(append(b, '_'), e.Value...)
		}
	}
	return b
}
