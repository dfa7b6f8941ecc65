package room_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

// TestOrderOfEviction: the order in which each policy evicts keys of one shard, down to those that it keeps.
func TestOrderOfEviction(t *testing.T) {
	race.OneGoroutine(t)
	k := together(4)
	const hour = 3_600_000
	for _, c := range []struct {
		policy string
		fill   func(h *house)
		order  []int // of k
	}{
		{"allkeys-lru", func(h *house) { // a second is the least difference
			h.put(k[1], 0)
			h.pass(1000)
			h.put(k[0], hour)
			h.pass(1000)
			h.put(k[2], 0)
		}, []int{1, 0, 2}},
		{"volatile-lru", func(h *house) {
			h.put(k[1], 0)
			h.pass(1000)
			h.put(k[0], hour)
			h.pass(1000)
			h.put(k[2], hour)
		}, []int{0, 2}},
		{"volatile-ttl", func(h *house) { // a millisecond is
			h.put(k[0], hour+1)
			h.put(k[1], hour)
			h.put(k[2], 0)
			h.put(k[3], hour+2)
		}, []int{1, 0, 3}},
		{"allkeys-lfu", func(h *house) {
			h.set("lfu-log-factor", 0) // each use counts
			for i, uses := range []int{3, 1, 2} {
				h.put(k[i], 0)
				for range uses {
					h.store.DB(0).LookupTouch([]byte(k[i]), h.nowMs())
				}
			}
		}, []int{1, 2, 0}},
		{"limiter-aware", func(h *house) { // the fullest last, whenever it was used
			h.fill(k[0], store.Denying)
			h.pass(10_000)
			h.fill(k[1], store.Full)
			h.fill(k[2], store.Full-1)
			h.put(k[3], 0)
		}, []int{3, 2, 1, 0}},
		{"limiter-aware", func(h *house) { // of equals the one unused for longest, in steps of four seconds
			h.fill(k[1], 100)
			h.pass(4000)
			h.fill(k[0], 100)
		}, []int{1, 0}},
		{"volatile-random", func(h *house) {
			h.put(k[0], 0)
			h.put(k[1], hour)
		}, []int{1}},
		{"noeviction", func(h *house) { h.put(k[0], hour) }, nil},
	} {
		h := newHouse(t, "--maxmemory-policy", c.policy, "--maxmemory-samples", "64")
		c.fill(h)
		held := h.len()
		for i, key := range c.order {
			h.limit(-1)
			require.True(t, h.make(), c.policy)
			require.Empty(t, h.keys(k[key]), "%s: %d", c.policy, i)
			require.Equal(t, held-i-1, h.len(), "%s: one is enough", c.policy)
			require.EqualValues(t, i+1, h.Evicted.Load())
		}
		h.limit(0)
		require.True(t, h.make(), "%s: what is at the limit is within it", c.policy)
		require.Equal(t, held-len(c.order), h.len())
		if h.len() > 0 {
			h.limit(-1)
			require.False(t, h.make(), "%s: no key may go", c.policy)
			require.Equal(t, held-len(c.order), h.len())
		}
		require.GreaterOrEqual(t, h.changed, len(c.order))
	}
}

// TestExpiredKeysGoFirst: nothing is evicted while expired keys make room.
func TestExpiredKeysGoFirst(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "volatile-ttl", "allkeys-random", "limiter-aware"} {
		h := newHouse(t, "--maxmemory-policy", policy)
		names := together(20)
		for _, name := range names[:10] {
			h.put(name, 10)
		}
		for _, name := range names[10:] {
			h.put(name, 1_000_000)
		}
		h.pass(11)
		h.limit(-1)
		require.True(t, h.make(), policy)
		require.Zero(t, h.Evicted.Load(), policy)
		require.Less(t, h.len(), 20)
		require.Equal(t, strings.Join(names[10:], " "), h.keys(names[10:]...), policy)
	}
}

// TestWhoMustNotEvict: while files are loaded, a script is busy, or there is a master, nothing goes.
func TestWhoMustNotEvict(t *testing.T) {
	h := newHouse(t, "--maxmemory-policy", "allkeys-random")
	h.put("k", 0)
	h.limit(-1)
	for _, on := range []*bool{&h.loading, &h.suspended, &h.replica} {
		*on = true
		require.True(t, h.make(), "and no command is refused")
		require.Equal(t, "k", h.keys("k"))
		*on = false
	}
	h.torn = store.AllShards
	require.False(t, h.make(), "what a script has changed by half stays")
	require.Equal(t, "k", h.keys("k"))
	h.torn = 0
	require.True(t, h.make())
	require.Empty(t, h.keys("k"))
}

// TestReserve: keys go before the limit is reached, until there are none: then it holds alone.
func TestReserve(t *testing.T) {
	h := newHouse(t, "--maxmemory-policy", "volatile-lru")
	h.put("stays", 0)
	h.limit(100)
	require.False(t, h.Exceeded())
	h.Limit.Reserve.Store(100)
	require.False(t, h.Exceeded())
	h.Limit.Reserve.Store(101)
	require.True(t, h.Exceeded())
	require.True(t, h.make(), "there is nothing to evict, but the limit is not reached")
	require.False(t, h.Exceeded(), "until the next Tick")
	h.set("maxmemory-policy", "noeviction")
	require.False(t, h.Exceeded(), "nobody is to evict before the limit")

	h.set("maxmemory-policy", "volatile-lru")
	h.Limit.Reserve.Store(0)
	h.limit(0)
	h.buffers.Store(1)
	require.True(t, h.Exceeded(), "buffers count")
	require.False(t, h.make())
	h.buffers.Store(0)
	h.others = 1
	require.False(t, h.Exceeded(), "what else is in use is read at the next Tick")
	h.Tick()
	require.True(t, h.Exceeded())
}

// TestSlowMachine: if the time for making room ends at once, a few keys go, and a timer goes on.
func TestSlowMachine(t *testing.T) {
	h := newHouse(t, "--maxmemory-policy", "allkeys-random")
	for i := range 1000 {
		h.put(fmt.Sprint(i), 0)
	}
	h.step = 1_000_000
	h.set("maxmemory", 1)
	require.True(t, h.make(), "the command runs")
	require.EqualValues(t, 16, h.Evicted.Load())
	require.True(t, h.make())
	require.EqualValues(t, 32, h.Evicted.Load())
	require.Len(t, h.timers, 1, "one at a time")
	for i := 0; i < len(h.timers); i++ {
		require.LessOrEqual(t, len(h.timers), 1000/16)
		h.timers[i]()
	}
	require.Zero(t, h.len())
	require.False(t, h.make(), "now that nothing is left, memory is exhausted")
	total, current := h.ExceededUs(h.passed)
	require.Equal(t, total, current, "memory is exceeded all the time")
	require.Positive(t, current)
	h.set("maxmemory", 0)
	h.ResetStats()
	require.Zero(t, h.Evicted.Load())
}

// TestLimitBelowWhatIsHeld: Ticks go on making room, and count for how long it was missing.
func TestLimitBelowWhatIsHeld(t *testing.T) {
	race.OneGoroutine(t)
	h := newHouse(t, "--maxmemory-policy", "allkeys-random")
	empty := h.store.UsedEstimate()
	for i := range 20_000 {
		h.put(fmt.Sprint("key:", i), 0)
	}
	h.set("maxmemory", empty+50_000)
	h.step = 1
	for range 100 {
		h.Tick()
	}
	require.LessOrEqual(t, h.store.UsedEstimate(), empty+50_000)
	total, current := h.ExceededUs(h.passed)
	require.Zero(t, current)
	require.Positive(t, total)
	require.Contains(t, h.events, "eviction-cycle")
}
