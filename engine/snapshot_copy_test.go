package engine

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

// TestACopyWhileCommandsRun runs commands of all kinds in every turn that a copy gives
// to others. The file has what was there when the copy began.
func TestACopyWhileCommandsRun(t *testing.T) {
	race.OneGoroutine(t)
	const seed = 21
	t.Logf("seed %d", seed)
	const keys = 1000
	still := func() int64 { return 1_700_000_000_000_000 }
	turns, change := 0, func() {}
	e := New(Options{
		Clock: clock.New(clock.Sources{Monotonic: still, Wall: still}),
		Turn:  func() { turns++; change() },
	})
	s := open(t, e)
	fill(s, keys)
	for round := range 4 {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		var want contents
		change = func() {
			for range rng.IntN(20) {
				changeAtRandom(s, rng, keys)
			}
		}
		var file bytes.Buffer
		turns = 0
		require.NoError(t, e.storage.Copy(&file, nil, func() durable.History {
			want = contentsOf(e.store)
			return durable.History{}
		}))
		require.Greater(t, turns, 50)
		got := contents{}
		_, err := rdb.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), rdb.ReadOptions{},
			rdb.Handler{Key: func(db int, key []byte, expireAtMs int64, value store.Value) error {
				return got.put(durable.Key{DB: db, Name: string(key), ExpireAtMs: expireAtMs, Value: value})
			}})
		require.NoError(t, err)
		require.Empty(t, got.differs(want))
	}
}

// TestACopyLeavesNoGarbage bounds what a copy of small keys allocates: with a large
// heap, the collection that garbage brings about is what other clients notice most.
func TestACopyLeavesNoGarbage(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates where the code does not")
	}
	const keys = 20_000
	e := newLogged(t, nil)
	fillSmall(open(t, e), keys)
	history := func() durable.History { return durable.History{} }
	allocs := testing.AllocsPerRun(3, func() {
		require.NoError(t, e.storage.Copy(io.Discard, nil, history))
	})
	require.Less(t, allocs, float64(keys)/50)
}
