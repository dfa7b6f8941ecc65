package room_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

// figures returns the keys and the limit of each prefix.
func (h *house) figures() (all []string) {
	for _, p := range h.store.PrefixFigures() {
		all = append(all, fmt.Sprintf("%s %d/%d", p.Prefix, p.Keys, p.Max))
	}
	return all
}

// full returns the prefix that refuses a key, or nil.
func (h *house) full(key string) *store.Prefix {
	set := store.ShardOf([]byte(key))
	h.store.Lock(set)
	defer h.store.Unlock(set)
	return h.store.DB(0).Reserve([]byte(key))
}

// TestPrefixesAreCounted: keys that exist when a limit begins to apply count, once files are loaded.
func TestPrefixesAreCounted(t *testing.T) {
	h := newHouse(t)
	for i := range 3 {
		h.put(fmt.Sprint("t:", i), 0)
	}
	h.set("rl-max-keys-per-prefix", "t: 4")
	require.False(t, h.store.PrefixesCounted())
	h.loading = true
	h.CountPrefixes()
	h.Tick()
	require.False(t, h.store.PrefixesCounted())
	h.loading = false
	h.Tick()
	require.True(t, h.store.PrefixesCounted())
	require.Equal(t, []string{"t: 3/4"}, h.figures())
	require.Nil(t, h.full("t:new"))
	require.Equal(t, "t:", h.full("t:other").Name(), "the fifth")
	require.Nil(t, h.full("u:other"))

	h.set("rl-max-keys-per-prefix", "t:1 9 t: 2") // less than it has
	h.CountPrefixes()
	require.Equal(t, []string{"t: 4/2", "t:1 1/9"}, h.figures())
	require.NotNil(t, h.full("t:1"), "both must have room")
	h.set("rl-max-keys-per-prefix", "")
	h.CountPrefixes()
	require.Empty(t, h.figures())

	other := &house{t: t, store: h.store, cfg: h.cfg, busy: h.busy}
	h.set("rl-max-keys-per-prefix", "t: 5")
	other.start()
	require.Equal(t, []string{"t: 3/5"}, other.figures(), "Init counts")
}

// TestTicksCountSome: a Tick counts a bounded number of keys. What a busy script holds is left to later ones.
func TestTicksCountSome(t *testing.T) {
	const keys = 50_000
	h := newHouse(t)
	for i := range keys {
		h.put(fmt.Sprint("t:", i), 0)
	}
	h.set("rl-max-keys-per-prefix", "t: 1")
	h.Tick()
	require.False(t, h.store.PrefixesCounted(), "too many for one Tick")
	require.Equal(t, 64, h.paused)
	close(h.busy)
	h.store.Lock(store.AllShards)
	h.Tick()
	h.CountPrefixes()
	h.store.Unlock(store.AllShards)
	require.False(t, h.store.PrefixesCounted())
	h.CountPrefixes()
	require.Equal(t, []string{"t: 50000/1"}, h.figures())
}

// TestReclaimForAPrefix: expired keys make room under a prefix, no more of them than it takes unless all are
// to go, and once in a millisecond.
func TestReclaimForAPrefix(t *testing.T) {
	h := newHouse(t, "--rl-max-keys-per-prefix", "t:", "2000")
	for i := range 2000 {
		h.put(fmt.Sprint("t:", i), 10)
	}
	full := h.full("t:new")
	require.NotNil(t, full)
	require.False(t, h.ReclaimPrefix(full, h.nowMs(), false), "nothing has expired")
	h.pass(11)
	h.loading = true
	require.False(t, h.ReclaimPrefix(full, h.nowMs(), false))
	h.loading = false
	require.True(t, h.ReclaimPrefix(full, h.nowMs(), false))
	held := h.len()
	require.Greater(t, held, 1000, "a few are enough")
	require.True(t, h.ReclaimPrefix(full, h.nowMs(), false), "there is room already")
	require.Equal(t, held, h.len())
	require.True(t, h.ReclaimPrefix(full, h.nowMs(), true))
	require.Zero(t, h.len())

	for i := range 2000 {
		h.put(fmt.Sprint("t:", i), 0)
	}
	h.put("other", 1)
	now := h.nowMs()
	require.False(t, h.ReclaimPrefix(full, now+5, true), "a pass")
	h.pass(3)
	require.False(t, h.ReclaimPrefix(full, now+5, true))
	require.Equal(t, "other", h.keys("other"), "a second pass for the same instant is none")
	require.False(t, h.ReclaimPrefix(full, now+6, true))
	require.Empty(t, h.keys("other"))
}
