package local_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/upstream/local"
)

func leases(t *testing.T, words ...string) *local.Leases {
	l, err := local.ParseLeases(words)
	require.NoError(t, err)
	return l
}

func TestLeaseGrantsItsUnits(t *testing.T) {
	l := leases(t, "user:", "10", "50")
	take := func(cost, atUs int64) (limiter.Decision, bool, local.Want) {
		return l.Take(key, question, cost,
			atUs)
	}
	_, ok, want := take(1, 0)
	require.False(t, ok)
	require.Equal(t, local.Want{SharePercent: 10, AheadMs: 50, Most: 4}, want)
	_, ok, want = take(1, 0)
	require.False(t, ok)
	require.Zero(t, want, "one call asks")

	own := &limiter.Decision{Allowed: 1, Limit: 10, Remaining: 5, ResetAfterMs: 1050, WindowMs: 1000}
	l.Taken(question, l.Epoch(key), own, 4, local.Want{AheadMs: 50}, 1000, 3000)
	d, ok, _ := take(3, 4000)
	require.True(t, ok)
	require.Equal(t, limiter.Decision{
		Allowed: 3, Limit: 10, Remaining: 6, Used: 4, ResetAfterMs: 1049, NextAfterMs: 1049, WindowMs: 1000,
	}, d)
	_, ok, want = take(2, 5000)
	require.False(t, ok)
	require.Zero(t, want, "the rest is for smaller costs")
	d, ok, _ = take(1, 50_000)
	require.True(t, ok)
	require.EqualValues(t, 5, d.Remaining)
	_, ok, want = take(1, 50_000)
	require.False(t, ok)
	require.EqualValues(t, 8, want.Most, "it was too small")
	l.Failed(question)
	_, _, want = take(1, 50_000)
	require.EqualValues(t, 8, want.Most)

	l.Taken(question, l.Epoch(key), own, 8, want, 60_000, 60_000)
	_, ok, _ = take(3, 109_000)
	require.True(t, ok)
	_, ok, want = take(1, 109_001)
	require.False(t, ok, "it is over")
	require.EqualValues(t, 3, want.Most, "it was too large")

	l.Taken(question, l.Epoch(key), own, 3, want, 110_000, 110_000)
	l.Forget(key)
	_, ok, _ = take(1, 111_000)
	require.False(t, ok)
	require.False(t, leases(t).Covers(key))
	require.True(t, l.Covers(key))
}

func TestLeaseDirective(t *testing.T) {
	for _, words := range [][]string{
		{"a"},
		{"a", "10"},
		{"a", "0", "50"},
		{"a", "101", "50"},
		{"a", "10", "0"},
		{"a", "10", "86400001"},
		{"a", "10", "50", "b"},
	} {
		_, err := local.ParseLeases(words)
		require.ErrorContains(t, err, "rl-lease must be prefixes", "%q", words)
	}
}

// A crowd is gateways with leases of one key, and what they have admitted.
type crowd struct {
	world    *world
	r        *rand.Rand
	gateways []*local.Leases
	admitted []int64 // the millisecond of each unit
	leased   int     // of them
	trips    int
	recordMs func(aheadMs int64) int64 // how far ahead the engine records a lease
}

func (c *crowd) pass(maxUs int64) { c.world.nowUs += c.r.Int64N(maxUs) }

func (c *crowd) admit(units int64) {
	for range units {
		c.admitted = append(c.admitted, c.world.nowMs())
	}
}

// call is one call of RL.ALLOW through a gateway, with round trips that take time.
func (c *crowd) call(l *local.Leases, limit, windowMs, cost int64) {
	d, ok, want := l.Take(key, question, cost, c.world.nowUs)
	if ok {
		c.leased += int(d.Allowed)
		c.admit(d.Allowed)
		return
	}
	epoch, sentUs := l.Epoch(key), c.world.nowUs
	c.pass(3_000)
	c.trips++
	d = c.world.allow(limit, windowMs, cost, 0)
	c.admit(d.Allowed)
	units := int64(0)
	if want.Most > 0 && d.Allowed > 0 {
		remaining := limit - c.world.peek(limit, windowMs, 1).Used
		if units = min(want.Most, remaining*want.SharePercent/100); units > 0 {
			granted := c.world.allow(limit, windowMs, units, c.recordMs(want.AheadMs))
			units = granted.Allowed
		}
	}
	c.pass(3_000)
	if want.Most > 0 {
		l.Taken(question, epoch, &d, units, want, sentUs, c.world.nowUs)
	}
}

// worst returns the most units that were admitted within a window.
func (c *crowd) worst(windowMs int64) (most int) {
	first := 0
	for last, ms := range c.admitted {
		for c.admitted[first] <= ms-windowMs {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// run makes random calls, some in bursts, and returns the worst window.
func (c *crowd) run(t *testing.T, seed uint64, limit, windowMs int64) int {
	c.world, c.r = newWorld(), rand.New(rand.NewPCG(seed, 3))
	c.gateways = nil
	for range 2 {
		c.gateways = append(c.gateways, leases(t, "", "30", "80"))
	}
	for range 3000 {
		if c.r.IntN(6) == 0 {
			c.pass(windowMs * 300)
		} else {
			c.pass(4_000)
		}
		c.call(c.gateways[c.r.IntN(2)], limit, windowMs, 1+c.r.Int64N(3))
	}
	return c.worst(windowMs)
}

func TestLeasesNeverExceedTheLimit(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := &crowd{recordMs: func(aheadMs int64) int64 { return aheadMs }}
			require.LessOrEqual(t, c.run(t, seed, 60, 500), 60)
			require.Less(t, 100, c.leased)
		})
	}
}

// TestExceedingIsFound: units that are recorded when they are taken leave the window too early.
func TestExceedingIsFound(t *testing.T) {
	worst := 0
	for seed := range uint64(20) {
		c := &crowd{recordMs: func(int64) int64 { return 0 }}
		worst = max(worst, c.run(t, seed, 60, 500))
	}
	require.Less(t, 60, worst)
}
