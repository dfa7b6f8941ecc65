package room_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

// TestTickYieldsWhileKeysExpire checks that a Tick reclaims some hundreds of keys between
// two yields, however many are due, and stops after a while; later Ticks reclaim the
// rest.
func TestTickYieldsWhileKeysExpire(t *testing.T) {
	race.OneGoroutine(t)
	const (
		keys = 100_000
		most = 512 + 2*64 // between two rests: a step of 64 is begun below 512, a group of keys is not cut
	)
	h := newHouse(t)
	for i := range keys {
		h.put(fmt.Sprint("k", i), 10)
	}
	h.put("stays", 0)
	h.pass(11)
	before := keys + 1
	h.pause = func() {
		now := h.len() // a client is served meanwhile
		require.LessOrEqual(t, before-now, most)
		before = now
	}
	ticks := 0
	for ; h.len() > 1; ticks++ {
		require.Less(t, ticks, 10)
		require.EqualValues(t, ticks, h.Reclaims.Cuts.Load(), "each leaves keys to the next one")
		h.paused = 0
		h.Tick()
		require.LessOrEqual(t, h.paused, 64)
		require.LessOrEqual(t, before-h.len(), most)
		before = h.len()
	}
	require.Greater(t, ticks, 2, "one Tick does not do it all")
	require.Equal(t, "stays", h.keys("stays"))
	h.Tick()
	require.Equal(t, 1, h.len())
	require.EqualValues(t, ticks-1, h.Reclaims.Cuts.Load())
}

// TestWhenKeysAreReclaimed: a deadline's own millisecond still counts, and some keys have to wait.
func TestWhenKeysAreReclaimed(t *testing.T) {
	k := together(2)
	h := newHouse(t)
	h.put(k[0], 10)
	h.put(k[1], 11)
	h.pass(10)
	h.Tick()
	require.Equal(t, 2, h.len())
	h.pass(1)
	shard := store.ShardOf([]byte(k[0]))
	for name, wait := range map[string]func() (over func()){
		"files are loaded":        func() func() { h.loading = true; return func() { h.loading = false } },
		"a script has half of it": func() func() { h.torn = shard; return func() { h.torn = 0 } },
		"a busy script holds the shard": func() func() {
			close(h.busy)
			h.store.Lock(shard)
			return func() { h.store.Unlock(shard); h.busy = make(chan struct{}) }
		},
		"DEBUG SET-ACTIVE-EXPIRE 0": func() func() {
			h.Reclaims.Off.Store(true)
			return func() { h.Reclaims.Off.Store(false) }
		},
	} {
		over := wait()
		h.Tick()
		if !h.Reclaims.Off.Load() {
			h.Reclaim()
		}
		over()
		require.Equal(t, 2, h.len(), name)
	}
	h.Tick()
	require.Equal(t, k[1], h.keys(k...))
	h.pass(1)
	h.Reclaim()
	require.Zero(t, h.len())

	h.put(k[0], 10)
	h.pass(11)
	h.store.Lock(store.AllShards)
	h.ReclaimLocked(h.nowMs())
	h.store.Unlock(store.AllShards)
	require.Zero(t, h.len())
}
