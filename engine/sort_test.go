package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// SORT reads keys of every shard, and keeps its result in another, while others
// change them: what it answers is one instant's. Two keys of different shards
// always change together.
func TestSortSeesOneInstant(t *testing.T) {
	const rounds = 300
	e, _, first := newServer(t)
	do(first, "RPUSH l 1 2")
	do(first, "MSET w_1 0 w_2 0")
	var all sync.WaitGroup
	for _, line := range []string{
		"MSET w_1 %[1]d w_2 %[1]d", "RENAME out out%[1]d",
		"LMPOP 2 out other LEFT COUNT 2",
	} {
		s := newSession(t, e)
		all.Go(func() {
			for i := range rounds {
				do(s, fmt.Sprintf(line, i))
			}
		})
	}
	for _, line := range []string{
		"SORT l BY none_* GET w_*", "SORT_RO l GET w_* GET w_*",
		"EVAL return(redis.call('SORT','l','BY','w_*','GET','w_*')) 0",
	} {
		s := newSession(t, e)
		all.Go(func() {
			for range rounds {
				replies := flat(s.Do(args(line)))
				for _, r := range replies {
					if r != replies[0] {
						t.Errorf("%s: %q", line, replies)
						return
					}
				}
				do(s, "SORT l BY w_* GET w_* STORE out")
			}
		})
	}
	all.Wait()
	require.Equal(t, "2", do(first, "SORT l BY w_* STORE out"))
}
