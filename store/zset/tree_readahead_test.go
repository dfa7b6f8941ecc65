package zset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store/dict"
)

// TestReadMembersAhead reads ahead for members that are there, that are not, that are in the log of unlisted
// leaves, and whose nodes are dead. It changes nothing and allocates nothing.
func TestReadMembersAhead(t *testing.T) {
	deferringSoon(t, 64)
	const n = 2000
	defer func(from int) { readAheadFrom = from }(readAheadFrom)
	readAheadFrom = n / 4
	s := logOf(n)
	var words [][]byte // score, member, ...
	for i := range 200 {
		at := s.At(i * n / 200)
		words = append(words, []byte("a score"), at.AppendMember(nil))
		words = append(words, []byte("a score"), fmt.Appendf(nil, "no member %d", i))
	}
	check := func() {
		before := text(s)
		for i := range words {
			s.ReadMembersAhead(words[i:], 1)
			s.ReadMembersAhead(words[i:], 2)
		}
		s.ReadMembersAhead(nil, 1)
		if s.kind == kindTree {
			for i := range words {
				checkFoundAhead(t, s.tree(), words[i:], 1+i%3)
			}
		}
		require.NoError(t, s.check())
		require.Equal(t, before, text(s))
		if !race.Enabled {
			require.Zero(t, testing.AllocsPerRun(100, func() { s.ReadMembersAhead(words[1:], 2) }))
		}
	}
	check()
	s.Add([]byte("a name"), 0)
	require.Positive(t, s.tree().rest.unlisted)
	check()
	for s.tree().rest.unlisted > 0 {
		s.Finish(1000)
	}
	check()
	s.RemoveByRank(n/8, n/2)
	require.Positive(t, s.tree().rest.dead)
	require.Greater(t, s.Len(), readAheadFrom)
	check()
	for s.Unfinished() {
		s.Finish(1000)
	}
	check()
}

// checkFoundAhead checks that every listed member among args is in the leaf that is found for it.
func checkFoundAhead(t *testing.T, tree *tree, args [][]byte, step int) {
	var leaves [MembersAhead]*leaf
	n, _ := tree.findAhead(args, step, &leaves)
	require.Equal(t, min((len(args)-1)/step+1, MembersAhead), n)
	for i := range n {
		member := args[i*step]
		node := tree.index.Get(dict.Hash(member), member)
		if node == nil || !tree.alive(node) {
			continue
		}
		_, listed := searchItems(leaves[i].items, item{node.Value, node})
		require.True(t, listed, "%s", member)
	}
}
