package config

import "bytes"

// Pair is one name and value of CONFIG GET.
type Pair struct{ Name, Value string }

// Get implements CONFIG GET. A pattern without *, ? and [ is a name in any case,
// and is returned as given; a directive is returned once. Other patterns are
// matched, ignoring case, against every name and alias: match gets both in lower
// case.
//
// Redis answers in the order of a hash table, which differs from run to run. Here
// names are in the order of the patterns, and those of one pattern in alphabetical
// order.
func (c *Config) Get(patterns [][]byte, match func(pattern []byte, name string) bool) []Pair {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Pair
	seen := make([]bool, len(names))
	for _, pattern := range patterns {
		if !bytes.ContainsAny(pattern, "*?[") {
			if i, ok := nameIndex(string(pattern)); ok && !seen[i] {
				seen[i] = true
				out = append(out, Pair{string(pattern), c.shown(names[i].index)})
			}
			continue
		}
		pattern = []byte(asciiLower(string(pattern)))
		for i, n := range names {
			if !seen[i] && !table[n.index].Hidden && match(pattern, n.text) {
				seen[i] = true
				out = append(out, Pair{n.text, c.shown(n.index)})
			}
		}
	}
	return out
}

// shown returns a value as CONFIG GET shows it. redis-server changes into dir, and
// so shows its absolute path. shown requires that mu is held.
func (c *Config) shown(index int) string {
	text := c.values[index].text
	if table[index].Kind == KindDir {
		return absolute(text)
	}
	return text
}
