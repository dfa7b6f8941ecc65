package config

import (
	"slices"
	"strings"
)

// table has every directive, sorted by name. Its indexes are those of
// Config.values.
var table = func() []Directive {
	all := slices.Concat(networkDirectives, tlsDirectives, serverDirectives, durableDirectives,
		upstreamDirectives, clusterDirectives,
		memoryDirectives, replicationDirectives, limitedDirectives, unusedDirectives)
	slices.SortFunc(all, func(a, b Directive) int { return strings.Compare(a.Name, b.Name) })
	return all
}()

// entry is one name of a directive.
type entry struct {
	text  string
	index int // in table
}

// names are the names and aliases, sorted. CONFIG GET with a pattern matches all of
// them, since Redis shows a value under each of its names.
var names = func() []entry {
	var all []entry
	for i := range table {
		all = append(all, entry{table[i].Name, i})
		for _, alias := range table[i].Aliases {
			all = append(all, entry{alias, i})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	for i := 1; i < len(all); i++ {
		if all[i].text == all[i-1].text {
			panic("config: two directives are called " + all[i].text)
		}
	}
	return all
}()

// byName maps the text of a name to its entry.
var byName = func() map[string]entry {
	m := make(map[string]entry, len(names))
	for _, n := range names {
		m[n.text] = n
	}
	return m
}()

// lookup finds a directive by any of its names, ignoring case.
func lookup(text string) (entry, bool) {
	n, ok := byName[asciiLower(text)]
	return n, ok
}

// IsSensitive reports whether a directive has a value that must not be shown. Case does
// not matter, and unknown names have none.
func IsSensitive(name string) bool {
	n, ok := lookup(name)
	return ok && table[n.index].Sensitive
}

// asciiLower changes only A to Z. strings.ToLower would turn the Kelvin sign into a
// k.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// asciiEqual reports whether a and b are equal, ignoring the case of A to Z.
func asciiEqual(a, b string) bool { return asciiLower(a) == asciiLower(b) }

// nameIndex returns the index in names of a name, ignoring case.
func nameIndex(text string) (int, bool) {
	n, ok := lookup(text)
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(names, n.text,
		func(a entry, b string) int { return strings.Compare(a.text, b) })
}
