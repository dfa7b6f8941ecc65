package contention

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContention(t *testing.T) {
	const calls = 200_000
	base := load{cores: 8, shards: 64, outside: 500, held: 500, spin: 1e9}
	with := func(change func(*load)) speed {
		c := base
		change(&c)
		return c.simulate(calls)
	}
	require.InDelta(t, 1, with(func(c *load) { c.cores = 1 }).up, 0.01)
	require.InDelta(t, 8, with(func(c *load) { c.outside, c.held = 1000, 0 }).up, 0.01)
	require.InDelta(t, 8, with(func(c *load) { c.shards = 1 << 20 }).up, 0.05)
	require.InDelta(t, 2, with(func(c *load) { c.shards = 1 }).up, 0.01,
		"one lock that is held half of the time")
	free := with(func(*load) {})
	require.Less(t, free.up, 8.0)
	require.Greater(t, free.up, 7.0)
	require.Zero(t, free.parked, "who spins for long never parks")

	parking := with(func(c *load) { c.spin, c.wake = 100, 50_000 })
	require.Less(t, parking.up, 5.0, "a wake-up is long")
	require.Positive(t, parking.parked)
	require.Greater(t, parking.waiting, free.waiting)

	moved := with(func(c *load) { c.transfer = 100 })
	require.Less(t, moved.up, free.up)

	hot := with(func(c *load) { c.cores, c.hottest = 64, 0.25 })
	require.InDelta(t, 8, hot.up, 0.7, "a quarter of the calls, each with half of its time, in sequence")
}
