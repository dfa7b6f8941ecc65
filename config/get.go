package config

import (
	"bytes"
	"path/filepath"
)

// Pair is one name and value of CONFIG GET.
type Pair struct{ Name, Value string }

// Get is CONFIG GET. A pattern without * ? and [ is a name, of any case, and
// comes back as it was asked for; a directive asked for twice comes once. A
// pattern with one of them is matched, whatever the case, against every name
// and alias by match, whose second argument is in lower case, as is the
// pattern it gets.
//
// Redis answers in the order of a hash table that differs from run to run.
// Here the names come as asked for, those of one pattern in alphabetical order.
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

// shown is a value as CONFIG GET shows it: redis-server changes into dir, and
// so knows it by its whole path. It requires mu.
func (c *Config) shown(index int) string {
	text := c.values[index].text
	if table[index].Kind == KindDir {
		if whole, err := filepath.Abs(text); err == nil {
			return whole
		}
	}
	return text
}
