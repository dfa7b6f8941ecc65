package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Each way in which a key changes is recorded once, in order.
func TestChangesAreRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(s *store.Store)
		want []string
	}{
		"put":       {func(s *store.Store) { put(s.DB(1), "k", "v") }, []string{"changed 1 k"}},
		"put again": {func(s *store.Store) { put(s.DB(0), "old", "v") }, []string{"changed 0 old"}},
		"delete": {
			func(s *store.Store) { s.DB(0).Delete(s.DB(0).Find([]byte("old"), 0)) },
			[]string{"deleted 0 old: del"},
		},
		"touch": {
			func(s *store.Store) { s.DB(0).Touch(s.DB(0).Find([]byte("old"), 0)) },
			[]string{"changed 0 old"},
		},
		"modified": {
			func(s *store.Store) { s.DB(0).Modified(s.DB(0).Find([]byte("old"), 0)) },
			[]string{"changed 0 old"},
		},
		"emptied": {func(s *store.Store) {
			n, _ := s.DB(0).AddZSet([]byte("z"))
			s.DB(0).Modified(n)
		}, []string{"deleted 0 z: del"}},
		"make room": {func(s *store.Store) {
			s.DB(0).DeleteForReplace(s.DB(0).Find([]byte("old"), 0))
			put(s.DB(0), "old", "w")
		}, []string{"replaced 0 old", "changed 0 old"}},
		"rename": {
			func(s *store.Store) { s.DB(0).Rename(s.DB(0).Find([]byte("old"), 0), []byte("due")) },
			[]string{"moved 0 old", "changed 0 due"},
		},
		"move": {
			func(s *store.Store) { s.DB(0).MoveTo(s.DB(0).Find([]byte("old"), 0), s.DB(2), []byte("k")) },
			[]string{"moved 0 old", "changed 2 k"},
		},
		"read": {func(s *store.Store) { s.DB(0).Lookup([]byte("old"), nowMs) }, nil},
		"expire": {
			func(s *store.Store) { s.DB(0).Lookup([]byte("due"), nowMs) },
			[]string{"expired 0 due: expired"},
		},
		"reclaim": {
			func(s *store.Store) { s.Reclaim(store.AllShards, nowMs, 100) },
			[]string{"expired 0 due: expired"},
		},
		"scan": {
			func(s *store.Store) { s.DB(0).Scan(0, 100, nowMs, func(*store.Node) {}) },
			[]string{"expired 0 due: expired"},
		},
		"flush":       {func(s *store.Store) { s.DB(0).Flush() }, []string{"flushed 0"}},
		"flush empty": {func(s *store.Store) { s.DB(3).Flush() }, []string{"flushed 3"}},
		"swap":        {func(s *store.Store) { s.Swap(0, 7, 0) }, []string{"swapped 0 7"}},
		"after swap": {
			func(s *store.Store) { s.Swap(0, 7, 0); put(s.DB(7), "old", "v") },
			[]string{"swapped 0 7", "changed 7 old"},
		},
		"recording ended": {func(s *store.Store) {
			s.Record(store.AllShards, nil)
			put(s.DB(0), "k", "v")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := store.New()
			put(s.DB(0), "old", "v")
			s.DB(0).ExpireAt(put(s.DB(0), "due", "v"), nowMs-1)
			var g effects.Group
			g.Want(effects.Tracked)
			s.Record(store.AllShards, &g)
			tc.do(s)
			require.Equal(t, tc.want, changesIn(&g))
		})
	}
}

// The store records its own events whatever event the command gives its changes.
func TestStoreEvents(t *testing.T) {
	s := store.New()
	s.DB(0).ExpireAt(put(s.DB(0), "due", "v"), nowMs-1)
	var g effects.Group
	g.Want(effects.Events)
	s.Record(store.AllShards, &g)
	m := g.Enter(effects.Event{Name: "set", Class: effects.Strings})
	n := put(s.DB(0), "k", "v")
	put(s.DB(0), "k", "w")
	s.DB(0).Rename(n, []byte("l"))
	s.DB(0).Lookup([]byte("due"), nowMs)
	s.DB(0).Find([]byte("due"), nowMs)
	s.DB(0).DeleteForReplace(s.DB(0).Find([]byte("l"), nowMs))
	s.DB(0).Delete(put(s.DB(0), "l", "v"))
	s.DB(0).Flush()
	g.Leave(m, 0, nil)
	put(s.DB(0), "m", "v")
	require.Equal(t, []string{
		"noted 0 k: new", "changed 0 k: set", "changed 0 k: set",
		"noted 0 l: new", "changed 0 l: set",
		"expired 0 due: expired", "noted 0 due: keymiss",
		"noted 0 l: new", "changed 0 l: set", "deleted 0 l: del",
		"noted 0 m: new",
	}, changesIn(&g))
}

// changesIn returns the changes of a group, one line each.
func changesIn(g *effects.Group) (lines []string) {
	words := [...]string{
		"changed", "deleted", "moved", "replaced", "expired", "evicted", "flushed", "swapped",
		"noted",
	}
	changes := g.Changes()
	for i := range changes {
		c := &changes[i]
		line := fmt.Sprint(words[c.Kind], " ", c.DB)
		switch c.Kind {
		case effects.Flushed:
		case effects.Swapped:
			line += fmt.Sprint(" ", c.Other)
		default:
			line += fmt.Sprintf(" %s", g.Key(c))
		}
		if c.Event.Name != "" {
			line += ": " + c.Event.Name
		}
		lines = append(lines, line)
	}
	return lines
}
