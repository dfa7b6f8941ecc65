package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The log has what waiting calls have taken, and in the order in which they took it.
func TestWaitsAreLogged(t *testing.T) {
	for seed := range uint64(20) {
		w := newRoomWorld(t, seed, "")
		log := &logBuffer{}
		w.e.Record(log)
		for range 100 {
			if i := w.rnd.IntN(len(w.sessions)); w.calls[i] == nil && w.rnd.IntN(2) == 0 {
				require.Empty(t, w.call(i))
				w.m.settle()
			} else {
				w.disturb()
			}
			require.Empty(t, w.compare())
		}
		want := contents(w.other)
		do(w.other, "SELECT 0")
		h := &hands{}
		h.us.Store(w.m.nowMs * 1000)
		s := (&effectsWorld{hands: h}).reload(t, logged(t, log.take()))
		require.Equal(t, want, contents(s))
	}
}
