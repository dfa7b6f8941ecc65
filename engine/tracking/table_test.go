package tracking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

// TestTable compares the table with a map of sets.
func TestTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var table table
	model := map[string]map[*reader]bool{}
	all := make([]*reader, 20)
	for i := range all {
		all[i] = &reader{id: int64(i) * 1000}
	}
	same := func(key string, readers []*reader) {
		require.Len(t, readers, len(model[key]), key)
		require.True(t, slices.IsSortedFunc(readers, compareReaders))
		for _, r := range readers {
			require.True(t, model[key][r])
		}
		delete(model, key)
	}
	for range 20_000 {
		key := fmt.Sprint("k", rnd.IntN(300))
		switch n := rnd.IntN(100); {
		case n < 80:
			r := all[rnd.IntN(len(all))]
			table.add([]byte(key), r)
			if model[key] == nil {
				model[key] = map[*reader]bool{}
			}
			model[key][r] = true
		case n < 98:
			same(key, table.remove([]byte(key)))
		case n < 99:
			shards := store.ShardSet(rnd.Uint64())
			evicted, readers, ok := table.evict(shards, rnd.IntN(store.NumShards))
			if !ok {
				for key := range model {
					require.Zero(t, shards&store.ShardOf([]byte(key)))
				}
				continue
			}
			require.NotZero(t, shards&store.ShardOf([]byte(evicted)))
			same(evicted, readers)
		case rnd.IntN(20) == 0:
			shards := store.ShardSet(rnd.Uint64())
			table.clear(shards)
			for key := range model {
				if shards&store.ShardOf([]byte(key)) != 0 {
					delete(model, key)
				}
			}
		}
		items := 0
		for _, readers := range model {
			items += len(readers)
		}
		require.EqualValues(t, len(model), table.keys.Load())
		require.EqualValues(t, items, table.items.Load())
	}
}

// TestPrefixes compares the invalidations with a comparison of every
// change with every prefix.
func TestPrefixes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func() string { return strings.Repeat("a", rnd.IntN(3)) + strings.Repeat("b", rnd.IntN(3)) }
	var tracked prefixes
	modes := make([]*Mode, 6)
	for range 3000 {
		i := rnd.IntN(len(modes))
		var next *Mode
		if rnd.IntN(4) > 0 {
			next = &Mode{}
			for range rnd.IntN(4) {
				next.prefixes = append(next.prefixes, word())
			}
			slices.Sort(next.prefixes)
			next.prefixes = slices.Compact(next.prefixes)
		}
		tracked.replace(modes[i], next)
		modes[i] = next

		var changes []broadcastChange
		for range rnd.IntN(5) {
			changes = append(changes, broadcastChange{key: word()})
		}
		var want, got []string
		all := map[string]bool{}
		for at, m := range modes {
			if m == nil {
				continue
			}
			for _, p := range m.prefixes {
				all[p] = true
				var keys []string
				for _, c := range changes {
					if strings.HasPrefix(c.key, p) {
						keys = append(keys, c.key)
					}
				}
				slices.Sort(keys)
				if keys = slices.Compact(keys); len(keys) > 0 {
					want = append(want, fmt.Sprint(at, keys))
				}
			}
		}
		require.Equal(t, len(all), tracked.len())
		set := tracked.load()
		if set == nil {
			require.Empty(t, all)
			continue
		}
		for _, c := range changes {
			require.Equal(t, slices.ContainsFunc(modes, func(m *Mode) bool {
				return m != nil && slices.ContainsFunc(m.prefixes,
					func(p string) bool { return strings.HasPrefix(c.key, p) })
			}), set.matches([]byte(c.key)))
		}
		set.match(changes, func(clients []*Mode, changes []broadcastChange) {
			var keys []string
			for _, c := range changes {
				keys = append(keys, c.key)
			}
			for _, m := range clients {
				got = append(got, fmt.Sprint(slices.Index(modes, m), keys))
			}
		})
		require.ElementsMatch(t, want, got)
	}
}

// TestFirstOverlap compares the sorted search with one of every pair.
func TestFirstOverlap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	word := func() string {
		b := make([]byte, rnd.IntN(6))
		for i := range b {
			b[i] = 'a' + byte(rnd.IntN(3))
		}
		return string(b)
	}
	begins := func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
	found := 0
	for range 5000 {
		var existing []string
		for range rnd.IntN(4) {
			existing = append(existing, word())
		}
		var prefixes [][]byte
		for range rnd.IntN(5) {
			prefixes = append(prefixes, []byte(word()))
		}
		want := slices.IndexFunc(prefixes, func(p []byte) bool {
			return slices.ContainsFunc(existing, func(has string) bool { return begins(string(p), has) })
		})
		if want < 0 {
			want = len(prefixes)
		}
		for i, p := range prefixes {
			for _, o := range prefixes[i+1:] {
				if begins(string(p), string(o)) {
					want = min(want, i)
				}
			}
		}
		require.Equal(t, want, firstOverlap(existing, prefixes), "%q %q", existing, prefixes)
		if want < len(prefixes) {
			found++
		}
	}
	require.Greater(t, found, 500)
	require.Less(t, found, 4500)
}
