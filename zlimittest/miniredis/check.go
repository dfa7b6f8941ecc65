package miniredis

import (
	"fmt"
	"slices"
	"strings"
)

// T is the part of testing.TB that checks need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// CheckGet fails the test unless the key is this string.
func (m *Miniredis) CheckGet(t T, key, expected string) {
	t.Helper()
	if got, err := m.Get(key); err != nil || got != expected {
		t.Errorf("key %q: want %q, got %q (error: %v)", key, expected, got, err)
	}
}

// CheckList fails the test unless the key is a list of these elements.
func (m *Miniredis) CheckList(t T, key string, expected ...string) {
	t.Helper()
	if got, err := m.List(key); err != nil || !slices.Equal(got, expected) {
		t.Errorf("key %q: want the list %q, got %q (error: %v)", key, expected, got, err)
	}
}

// CheckSet fails the test unless the key is a set of these elements.
func (m *Miniredis) CheckSet(t T, key string, expected ...string) {
	t.Helper()
	want := sorted(slices.Clone(expected))
	if got, err := m.Members(key); err != nil || !slices.Equal(got, want) {
		t.Errorf("key %q: want the set %q, got %q (error: %v)", key, want, got, err)
	}
}

// Dump formats the selected database for reading.
func (m *Miniredis) Dump() string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, "   "+format+"\n", args...) }
	for _, k := range m.Keys() {
		fmt.Fprintf(&b, "- %s\n", k)
		switch m.Type(k) {
		case "string":
			v, _ := m.Get(k)
			put("%q", v)
		case "hash":
			fields, _ := m.HKeys(k)
			for _, f := range fields {
				put("%s: %q", f, m.HGet(k, f))
			}
		case "list":
			elems, _ := m.List(k)
			for _, e := range elems {
				put("%q", e)
			}
		case "set":
			elems, _ := m.Members(k)
			for _, e := range elems {
				put("%q", e)
			}
		case "zset":
			members, _ := m.ZMembers(k)
			for _, e := range members {
				score, _ := m.ZScore(k, e)
				put("%f: %q", score, e)
			}
		}
	}
	return b.String()
}
