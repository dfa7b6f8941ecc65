package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store/alloc"
)

// TestWatchModel compares watches with sets of keys under random commands: who is marked, what the store has,
// and that Bytes is what the lists and names take.
func TestWatchModel(t *testing.T) {
	type key struct {
		db   int
		name string
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	s := New()
	watches := make([]Watch, 6)
	model := make([]map[key]bool, len(watches))
	dirty := make([]bool, len(watches))
	for i := range model {
		model[i] = map[key]bool{}
	}
	anyKey := func() key {
		i := rnd.IntN(30)
		return key{rnd.IntN(3), fmt.Sprint(i, strings.Repeat("n", i*7))}
	}
	aborted := 0
	for range race.Fewer(5000) {
		i, k := rnd.IntN(len(watches)), anyKey()
		w, db := &watches[i], s.DB(k.db)
		switch rnd.IntN(9) {
		case 0:
			if dirty[i] {
				aborted++
			}
			s.Unwatch(w)
			model[i], dirty[i] = map[key]bool{}, false
		case 1:
			db.Put([]byte(k.name), NewString([]byte("v")))
			for j := range watches {
				dirty[j] = dirty[j] || model[j][k]
			}
		default:
			db.Watch(w, []byte(k.name), 0)
			model[i][k] = true
		}
		requireWatches(t, s, watches)
		all := map[key]bool{}
		watching := int64(0)
		for j := range watches {
			require.Len(t, watches[j].keys, len(model[j]))
			for _, has := range watches[j].keys {
				require.True(t, model[j][key{int(has.db), has.name.Key()}])
				all[key{int(has.db), has.name.Key()}] = true
			}
			if len(model[j]) > 0 {
				watching++
			}
			require.Equal(t, !dirty[j], s.Intact(&watches[j], 0))
		}
		clients, keys := s.WatchCounts()
		require.Equal(t, watching, clients)
		require.Equal(t, int64(len(all)), keys)
	}
	require.Greater(t, aborted, race.Fewer(100))
	for i := range watches {
		s.Unwatch(&watches[i])
		require.Zero(t, watches[i].Bytes())
	}
	for i := range s.watched {
		require.Zero(t, s.watched[i].Len())
	}
}

// requireWatches checks that each watched key is in both of its lists, and what Bytes returns.
func requireWatches(t *testing.T, s *Store, watches []Watch) {
	t.Helper()
	listed, named := 0, 0
	for i := range watches {
		w := &watches[i]
		want := alloc.Pointers(8 * cap(w.keys))
		for _, k := range w.keys {
			require.Contains(t, k.name.Value, k)
			want += int64(k.name.Bytes()) + alloc.Pointers(24) + alloc.Pointers(8)
		}
		require.Equal(t, want, w.Bytes())
		listed += len(w.keys)
	}
	for i := range s.watched {
		for name := range s.watched[i].All() {
			require.NotEmpty(t, name.Value)
			require.LessOrEqual(t, cap(name.Value), max(4*len(name.Value)+3, 8), "it shrinks")
			named += len(name.Value)
		}
	}
	require.Equal(t, listed, named)
}
