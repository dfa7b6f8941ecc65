package aof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpareBuffers checks that buffers are kept for as long as they are needed once a second, and no longer.
func TestSpareBuffers(t *testing.T) {
	l := &Log{closed: true}
	use := func(n int) {
		var taken [][]byte
		for range n {
			taken = append(taken, l.backlog.spares.take())
		}
		for _, b := range taken {
			l.backlog.spares.put(b)
		}
	}
	second := int64(0)
	tick := func() {
		second++
		l.Tick(second * everyMs)
	}
	use(maxSpare + 5)
	require.Len(t, l.backlog.spares.free, maxSpare)
	tick()
	require.Len(t, l.backlog.spares.free, maxSpare, "all were needed")
	use(3)
	tick()
	require.Len(t, l.backlog.spares.free, 3)
	l.Tick(second*everyMs + 900) // less than a second later
	require.Len(t, l.backlog.spares.free, 3)
	tick()
	require.Empty(t, l.backlog.spares.free)
}
