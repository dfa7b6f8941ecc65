package zset

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The encodings are those of redis-server 7.0.15 after each step, with zset-max-listpack-entries 4 and
// zset-max-listpack-value 8 unless a step says otherwise.
func TestNoteEncoding(t *testing.T) {
	add := func(members ...string) func(*Set) {
		return func(s *Set) {
			for _, m := range members {
				s.Add([]byte(m), 1)
			}
		}
	}
	long := strings.Repeat("x", 9)
	type step struct {
		name           string
		do             func(*Set)
		entries, value int
		listpack       bool
	}
	scenarios := map[string][]step{
		"too many": {
			{"four", add("a", "b", "c", "d"), 4, 8, true},
			{"one again", add("a"), 4, 8, true},
			{"a fifth", add("e"), 4, 8, false},
			{"back to one", func(s *Set) { s.RemoveByRank(0, 4) }, 4, 8, false},
		},
		"too long": {
			{"eight bytes", add("12345678"), 4, 8, true},
			{"nine bytes", add(long), 4, 8, false},
			{"gone again", func(s *Set) { s.Remove([]byte(long)) }, 4, 8, false},
		},
		"changed limits apply to new members only": {
			{"nine bytes allowed", add(long, "a", "b"), 4, 9, true},
			{"lower limits, new score", func(s *Set) { s.Add([]byte(long), 3) }, 1, 8, true},
			{"lower limits, one removed", func(s *Set) { s.Remove([]byte("a")) }, 1, 8, true},
			{"length alone lower, one added", add("c"), 4, 8, true},
			{"entries lower, one added", add("d"), 1, 8, false},
		},
		"a log": {
			{"four", func(s *Set) { s.AppendRun(10, 4) }, 4, 8, true},
			{"one removed, one added", func(s *Set) { s.DropThrough(10); s.AppendRun(20, 1) }, 4, 8, true},
			{"a fifth", func(s *Set) { s.AppendRun(30, 1) }, 4, 8, false},
			{"empty", func(s *Set) { s.DropThrough(99) }, 4, 8, false},
		},
		"a log of long members": {
			{"eight bytes", func(s *Set) { s.AppendRun(-1234567, 1) }, 4, 8, true},
			{"nine bytes", func(s *Set) { s.AppendRun(123456789, 1) }, 4, 8, false},
		},
		"a log that becomes a tree": {
			{"five", func(s *Set) { s.AppendRun(10, 5) }, 4, 8, false},
			{"a name", add("a"), 128, 64, false},
		},
	}
	for name, steps := range scenarios {
		var s Set
		require.True(t, s.IsListpack())
		for _, st := range steps {
			st.do(&s)
			s.NoteEncoding(st.entries, st.value)
			require.Equal(t, st.listpack, s.IsListpack(), "%s: %s", name, st.name)
			require.Equal(t, st.listpack, s.Clone().IsListpack(), "%s: %s, cloned", name, st.name)
		}
	}
}
