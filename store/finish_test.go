package store

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store/zset"
)

const finishMembers = 20_000

// addUnfinished adds a sorted set that has just left the log.
func addUnfinished(db *DB, key string) *Node {
	set := new(zset.Set)
	for i := range int64(finishMembers) {
		set.Add(strconv.AppendInt(nil, i*7, 10), float64(i*7))
	}
	n := db.Put([]byte(key), set)
	ZSetOf(n).Add([]byte("a name"), 1)
	db.Modified(n)
	return n
}

// What is left to do of a value is done in steps, whatever becomes of its key, and memory stays counted.
func TestFinish(t *testing.T) {
	finish := func(s *Store) (steps, members int) {
		for more := true; more; steps++ {
			var done int
			done, more = s.Finish(AllShards, 64)
			members += done
			require.LessOrEqual(t, done, 64+512, "one step holds the shards")
			require.Equal(t, s.RecountMemory(), s.Memory())
		}
		return steps, members
	}
	for name, then := range map[string]struct {
		change func(s *Store, n *Node)
		left   int // to do
	}{
		"nothing": {func(*Store, *Node) {}, finishMembers - 512},
		"renamed": {func(s *Store, n *Node) { s.DB(0).Rename(n, []byte("other")) }, finishMembers - 512},
		"moved": {
			func(s *Store, n *Node) { s.DB(0).MoveTo(n, s.DB(1), []byte("other")) }, finishMembers - 512,
		},
		"swapped": {func(s *Store, n *Node) { s.Swap(0, 3, 0) }, finishMembers - 512},
		"deleted": {func(s *Store, n *Node) { s.DB(0).Delete(n) }, 0},
		"flushed": {func(s *Store, n *Node) { s.DB(0).Flush() }, 0},
		"replaced": {func(s *Store, n *Node) {
			s.DB(0).Put([]byte("key"), NewString([]byte("text")))
		}, 0},
		"cut": {func(s *Store, n *Node) {
			for more := true; more; {
				_, more = s.Finish(AllShards, 1000)
			}
			ZSetOf(n).RemoveByRank(5000, 15_000)
			s.DB(0).Modified(n)
		}, 9_800},
	} {
		s := New()
		n := addUnfinished(s.DB(0), "key")
		then.change(s, n)
		require.Equal(t, s.RecountMemory(), s.Memory(), name)
		steps, members := finish(s)
		require.InDelta(t, then.left, members, 300, "%s: %d steps", name, steps)
		for i := range s.unfinished {
			require.Empty(t, s.unfinished[i], name)
		}
	}
	s := New()
	for i := range 5 {
		addUnfinished(s.DB(i), fmt.Sprint("key", i))
	}
	_, members := finish(s)
	require.Equal(t, 5*(finishMembers-512), members)
}
