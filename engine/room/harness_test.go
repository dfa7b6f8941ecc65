package room_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/room"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

const startMs = 1_700_000_000_000

// A house is a Keeper with a keyspace, and what the engine would tell it.
type house struct {
	room.Keeper
	t       *testing.T
	store   *store.Store
	cfg     *config.Config
	passed  int64 // microseconds
	step    int64 // microseconds that each reading of the clock takes
	buffers atomic.Int64
	others  int64

	loading, suspended, replica bool
	torn                        store.ShardSet
	busy                        chan struct{}
	paused, changed             int
	pause                       func()
	timers                      []func()
	events                      []string
}

func newHouse(t *testing.T, directives ...string) *house {
	t.Helper()
	h := &house{t: t, store: store.New(), cfg: config.New(), busy: make(chan struct{})}
	require.NoError(t, h.cfg.ParseArgs(directives, nil))
	h.start()
	return h
}

func (h *house) start() {
	var mail atomic.Int64
	h.Init(room.Options{
		Config: h.cfg.View(), Store: h.store,
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { h.passed += h.step; return h.passed },
			Wall:      func() int64 { return startMs*1000 + h.passed },
		}),
		Pause: func() {
			h.paused++
			if h.pause != nil {
				h.pause()
			}
		},
		After: func(_ int64, fn func()) (stop func()) {
			h.timers = append(h.timers, fn)
			return func() {}
		},
		Buffers: &h.buffers, Mail: &mail, Others: func() int64 { return h.others },
		Loading: func() bool { return h.loading }, Suspended: func() bool { return h.suspended },
		Replica:    func() bool { return h.replica },
		BusyChange: func() <-chan struct{} { return h.busy },
		Torn:       func(shards store.ShardSet) bool { return shards&h.torn != 0 },
		Record:     func(*effects.Group, store.ShardSet) bool { return false },
		Event:      func(name string, _ int64) { h.events = append(h.events, name) },
		Changed:    func() { h.changed++ },
	})
}

func (h *house) pass(ms int64) { h.passed += ms * 1000 }

func (h *house) nowMs() int64 { return startMs + h.passed/1000 }

// put adds a key, with a deadline so many milliseconds ahead unless that is 0.
func (h *house) put(key string, ttlMs int64) {
	name := []byte(key)
	set := store.ShardOf(name)
	h.store.Lock(set)
	defer h.store.Unlock(set)
	h.store.DB(0).Find(name, h.nowMs()) // as commands do: it is the instant of what Put creates
	n := h.store.DB(0).Put(name, store.NewString([]byte("value")))
	if ttlMs > 0 {
		h.store.DB(0).ExpireAt(n, h.nowMs()+ttlMs)
	}
}

// fill adds a key whose limit is so full.
func (h *house) fill(key string, fullness uint8) {
	h.put(key, 0)
	h.store.DB(0).SetFullness([]byte(key), fullness, h.nowMs())
}

// keys returns the names among those given that exist, with a space between them.
func (h *house) keys(names ...string) string {
	h.store.Lock(store.AllShards)
	defer h.store.Unlock(store.AllShards)
	var all []string
	for _, name := range names {
		if h.store.DB(0).Examine([]byte(name), 0) != nil {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

func (h *house) len() int {
	h.store.Lock(store.AllShards)
	defer h.store.Unlock(store.AllShards)
	return h.store.DB(0).Len()
}

func (h *house) set(directive string, value any) {
	h.t.Helper()
	require.NoError(h.t, h.cfg.Set([][]byte{[]byte(directive), fmt.Append(nil, value)}))
}

// limit sets maxmemory to the used memory and some bytes. Before, it makes the store's estimate exact, which
// an eviction does that finds no candidate.
func (h *house) limit(more int64) {
	h.t.Helper()
	h.store.Lock(store.AllShards)
	for shard := 0; shard < store.NumShards; shard += 2 {
		_, evicted := h.store.Evict([2]int{shard, shard + 1}, &store.Eviction{By: 255}, 0, rand.Uint64N)
		require.Zero(h.t, evicted)
	}
	h.store.Unlock(store.AllShards)
	h.set("maxmemory", h.store.UsedEstimate()+h.buffers.Load()+h.others+more)
}

// make is Make with scratch space of its own.
func (h *house) make() bool {
	var g effects.Group
	return h.Make(&g)
}

// together returns n names of keys of one shard.
func together(n int) (names []string) {
	shard := store.ShardIndex([]byte("a0"))
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprint("a", i); store.ShardIndex([]byte(name)) == shard {
			names = append(names, name)
		}
	}
	return names
}
