package hash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func fieldsOf(h *Hash) (out []string) {
	h.All(func(field, value []byte) bool {
		out = append(out, fmt.Sprintf("%s=%s", field, value))
		return true
	})
	return out
}

func large(n int) *Hash {
	h := &Hash{}
	for i := range n {
		h.Set(fmt.Appendf(nil, "f%d", i), fmt.Appendf(nil, "%d", i))
	}
	return h
}

func changeAtRandom(h *Hash, rng *rand.Rand) {
	field := fmt.Appendf(nil, "f%d", rng.IntN(2000))
	if rng.IntN(3) == 0 {
		h.Delete(field)
	} else {
		h.Set(field, fmt.Appendf(nil, "new%d", rng.IntN(1000)))
	}
}

// A view has the contents of the hash when it was made, whatever changes between its steps.
func TestViewDoesNotChange(t *testing.T) {
	h := large(1000)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 20))
		want := fieldsOf(h)
		full, view := h.Freeze()
		require.Nil(t, full)
		for view.Step(1 + rng.IntN(60)) {
			for range rng.IntN(60) {
				changeAtRandom(h, rng)
			}
			if seed%4 == 3 && rng.IntN(10) == 0 {
				break // abandoned; the next view must be complete nevertheless
			}
		}
		if seed%4 == 3 {
			continue
		}
		got := fieldsOf(view.Value().(*Hash))
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, "seed %d", seed)
		require.Nil(t, h.large.view)
	}
}

func TestViewKeepsOrder(t *testing.T) {
	h := large(1000)
	want := fieldsOf(h)
	_, view := h.Freeze()
	for i := 0; view.Step(10); i++ {
		h.Set(fmt.Appendf(nil, "f%d", 999-i), []byte("changed"))
		h.Set(fmt.Appendf(nil, "new%d", i), nil)
	}
	require.Equal(t, want, fieldsOf(view.Value().(*Hash)))
}

// The comparison must detect a change that bypasses the view.
func TestBypassedViewIsDetected(t *testing.T) {
	h := large(1000)
	want := fieldsOf(h)
	_, view := h.Freeze()
	view.Step(10)
	h.large.view = nil
	h.Set([]byte("f500"), []byte("changed"))
	for view.Step(100) {
	}
	require.NotEqual(t, want, fieldsOf(view.Value().(*Hash)))
}

func TestSmallHashIsCopied(t *testing.T) {
	full, view := large(minView - 1).Freeze()
	require.Nil(t, view)
	require.Equal(t, minView-1, full.Len())
}
