package list

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func elements(l *List) (out []string) {
	l.Ascend(0, func(e string) bool {
		out = append(out, e)
		return true
	})
	return out
}

// A frozen list does not change with the list, nor the list with the frozen one.
func TestFrozenListDoesNotChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	l, model := filled(1000)
	var frozen []*List
	var want [][]string
	for i := range 3000 {
		if i%100 == 0 {
			frozen, want = append(frozen, l.Freeze()), append(want, elements(l))
		}
		model = step(t, l, model, byte(rng.IntN(256)), rng.IntN(1000), rng.IntN(1000))
		if l.Len() < 300 {
			for range 500 {
				model = append(model, "more")
				l.PushBack([]byte("more"))
			}
		}
	}
	check(t, model, l)
	for i := range frozen {
		check(t, want[i], frozen[i])
	}
	frozen[0].Set(3, []byte("changed"))
	check(t, model, l)
}

// The comparison must detect a missing unshare.
func TestMissingUnshareIsDetected(t *testing.T) {
	l, _ := filled(1000)
	frozen, want := l.Freeze(), elements(l)
	require.Equal(t, want, elements(frozen))
	for c := l.head; c != nil; c = c.next {
		c.shared = false
	}
	l.Set(500, []byte("changed"))
	require.NotEqual(t, want, elements(frozen))
}
