package hash

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The encodings are those of redis-server 7.0.15 after each step, with hash-max-listpack-entries 3 and
// hash-max-listpack-value 8 unless a step says otherwise.
func TestNoteEncoding(t *testing.T) {
	set := func(pairs ...string) func(*Hash) {
		return func(h *Hash) {
			for i := 0; i < len(pairs); i += 2 {
				h.Set([]byte(pairs[i]), []byte(pairs[i+1]))
			}
		}
	}
	remove := func(fields ...string) func(*Hash) {
		return func(h *Hash) {
			for _, f := range fields {
				h.Delete([]byte(f))
			}
		}
	}
	nothing := func(*Hash) {}
	nine := strings.Repeat("x", 9)
	type step struct {
		name           string
		do             func(*Hash)
		entries, value int64
		listpack       bool
	}
	scenarios := map[string][]step{
		"too many": {
			{"three", set("a", "1", "b", "2", "c", "3"), 3, 8, true},
			{"one again", set("a", "2"), 3, 8, true},
			{"a fourth", set("d", "4"), 3, 8, false},
			{"back to one", remove("a", "b", "c"), 3, 8, false},
		},
		"too long a value": {
			{"eight bytes", set("a", "12345678"), 3, 8, true},
			{"nine bytes", set("a", nine), 3, 8, false},
			{"gone again", set("a", "1"), 3, 8, false},
		},
		"too long a field": {
			{"eight bytes", set("12345678", ""), 3, 8, true},
			{"nine bytes", set(nine, ""), 3, 8, false},
		},
		"long and overwritten by the same command": {
			{"nine bytes", set("a", nine, "a", "1"), 3, 8, false},
		},
		"changed limits apply to what is set only": {
			{"nine bytes allowed", set("a", nine, "b", "2"), 3, 9, true},
			{"lower limits, nothing set", nothing, 1, 8, true},
			{"lower limits, one removed", remove("x"), 1, 8, true},
			{"length alone lower, a short one set", set("b", "3"), 3, 8, true},
			{"entries lower, one set again", set("b", "4"), 1, 8, false},
		},
		"a table": {
			{"many", func(h *Hash) {
				for i := range 100 {
					h.Set([]byte{byte(i)}, nil)
				}
			}, 100, 8, true},
			{"one more", set("one more", ""), 100, 8, false},
		},
	}
	for name, steps := range scenarios {
		var h Hash
		require.True(t, h.IsListpack())
		for _, st := range steps {
			st.do(&h)
			h.NoteEncoding(st.entries, st.value)
			require.Equal(t, st.listpack, h.IsListpack(), "%s: %s", name, st.name)
			require.Equal(t, st.listpack, h.Clone().IsListpack(), "%s: %s, cloned", name, st.name)
		}
	}
}
