package set

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func membersOf(s *Set) (out []string) {
	for m := range s.All() {
		out = append(out, m.Text())
	}
	slices.Sort(out)
	return out
}

func large(n int) *Set {
	s := &Set{}
	for i := range n {
		s.Add(fmt.Appendf(nil, "m%d", i), 0)
	}
	return s
}

// A view has the members of the set when it was made, whatever changes between its steps.
func TestViewDoesNotChange(t *testing.T) {
	s := large(1000)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 20))
		want := membersOf(s)
		full, view := s.Freeze()
		require.Nil(t, full)
		for view.Step(1 + rng.IntN(60)) {
			for range rng.IntN(60) {
				member := fmt.Appendf(nil, "m%d", rng.IntN(2000))
				if rng.IntN(3) == 0 {
					s.Remove(member)
				} else {
					s.Add(member, 0)
				}
			}
			if m := s.Random(func(n uint64) uint64 { return rng.Uint64N(n) }); rng.IntN(2) == 0 {
				s.RemoveMember(m)
			}
			if seed%4 == 3 && rng.IntN(10) == 0 {
				break // abandoned; the next view must be complete nevertheless
			}
		}
		if seed%4 == 3 {
			continue
		}
		require.Equal(t, want, membersOf(view.Value().(*Set)), "seed %d", seed)
		require.Nil(t, s.table.view)
	}
}

// The comparison must detect a removal that bypasses the view.
func TestBypassedViewIsDetected(t *testing.T) {
	s := large(1000)
	want := membersOf(s)
	_, view := s.Freeze()
	s.table.view = nil
	s.Remove([]byte("m500"))
	view.left-- // or it would never end
	for view.Step(100) {
	}
	require.NotEqual(t, want, membersOf(view.Value().(*Set)))
}

func TestSmallSetIsCopied(t *testing.T) {
	full, view := large(minView - 1).Freeze()
	require.Nil(t, view)
	require.Equal(t, minView-1, full.Len())
}
