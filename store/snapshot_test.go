package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

// contents is what the keyspace holds, by database and key.
type contents map[string]string

func (c contents) add(db int, n *store.Node) error {
	at, _ := n.Value.ExpireAtMs()
	name := fmt.Sprint(db, "/", n.Key())
	if _, twice := c[name]; twice {
		return fmt.Errorf("%s was handed out twice", name)
	}
	c[name] = fmt.Sprintf("%s until %d", store.StringOf(n).Bytes(nil), at)
	return nil
}

func contentsOf(s *store.Store) contents {
	out := contents{}
	for i := range store.Databases {
		for n := range s.DB(i).All(math.MinInt64) {
			_ = out.add(i, n)
		}
	}
	return out
}

// A snapshotTest changes a keyspace at random while snapshots are taken of it.
type snapshotTest struct {
	rng    *rand.Rand
	s      *store.Store
	now    int64
	keys   int  // how many names there are
	forget bool // to preserve what is changed in place
}

func (x *snapshotTest) key() []byte { return fmt.Appendf(nil, "key:%d", x.rng.IntN(x.keys)) }

func (x *snapshotTest) db() *store.DB { return x.s.DB(x.rng.IntN(3)) }

// change does something that a command might.
func (x *snapshotTest) change() {
	db, key := x.db(), x.key()
	switch x.rng.IntN(40) {
	case 0:
		x.s.Swap(x.rng.IntN(4), x.rng.IntN(4))
		return
	case 1:
		if x.rng.IntN(8) == 0 {
			db.Flush()
		}
		return
	case 2:
		x.now += x.rng.Int64N(40)
		x.s.Reclaim(store.AllShards, x.now, 20)
		return
	case 3:
		db.Scan(x.rng.Uint64(), 5, x.now, func(*store.Node) {})
		return
	case 4: // the tables grow
		for range 200 {
			db.Put(x.key(), store.NewInt(x.rng.Int64N(1000)))
		}
		return
	case 5: // and shrink
		for range 200 {
			if n := db.Find(x.key(), x.now); n != nil {
				db.Delete(n)
			}
		}
		return
	case 6, 7, 8, 9:
		db.Put(key, store.NewInt(x.rng.Int64N(1000)))
		return
	}
	n := db.Find(key, x.now)
	if n == nil {
		return
	}
	switch x.rng.IntN(6) {
	case 0:
		db.Delete(n)
	case 1:
		db.Rename(n, x.key())
	case 2:
		db.MoveTo(n, x.db(), x.key())
	case 3:
		db.ExpireAt(n, x.now+x.rng.Int64N(200))
	case 4:
		db.Persist(n)
	default:
		if !x.forget {
			db.Preserve(key)
		}
		store.StringOf(n).Append([]byte("+"))
		db.Modified(n)
	}
}

// take takes one snapshot, with changes between its steps.
func (x *snapshotTest) take(changes, slice int) (want, got contents, late int64, err error) {
	got = contents{}
	handed := 0
	sn := x.s.BeginSnapshot(func(db int, n *store.Node) {
		handed++
		if e := got.add(db, n); e != nil {
			err = e
		}
	})
	want = contentsOf(x.s)
	left := make([]int, store.NumShards)
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		for range x.rng.IntN(changes + 1) {
			x.change()
		}
		i := x.rng.IntN(len(left))
		handed = 0
		if !sn.Step(left[i], slice) {
			left[i] = left[len(left)-1]
			left = left[:len(left)-1]
		}
		if handed > slice+16 {
			err = fmt.Errorf("%d nodes in a step of %d", handed, slice)
		}
	}
	return want, got, sn.Late(), err
}

func newSnapshotTest(seed uint64, keys int) *snapshotTest {
	x := &snapshotTest{rng: rand.New(rand.NewPCG(seed, 1)), s: store.New(), now: nowMs, keys: keys}
	for range keys {
		x.db().Put(x.key(), store.NewInt(x.rng.Int64N(1000)))
	}
	return x
}

func TestASnapshotIsOneInstant(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	for _, keys := range []int{10, 300} {
		for _, slice := range []int{1, 20} {
			x := newSnapshotTest(seed+uint64(slice), keys)
			for round := range 3 {
				want, got, late, err := x.take(4*round, slice)
				require.NoError(t, err)
				require.Zero(t, late)
				require.Equal(t, want, got)
				require.Nil(t, x.s.Snapshot(), "it has ended")
			}
		}
	}
}

// TestTheComparisonOfSnapshotsSees that a hook was left out, and so does the
// snapshot itself.
func TestTheComparisonOfSnapshotsSees(t *testing.T) {
	x := newSnapshotTest(20, 300)
	x.forget = true
	want, got, late, err := x.take(200, 3)
	require.NoError(t, err)
	require.NotEqual(t, want, got)
	require.NotZero(t, late)
}

func TestAnAbortedSnapshotHandsOutNothing(t *testing.T) {
	x := newSnapshotTest(20, 1000)
	handed := 0
	sn := x.s.BeginSnapshot(func(int, *store.Node) { handed++ })
	for shard := range store.NumShards / 2 {
		sn.Step(shard, math.MaxInt)
	}
	sn.Abort()
	before := handed
	require.Nil(t, x.s.BeginSnapshot(nil), "one at a time")
	for range 500 {
		x.change()
	}
	for shard := range store.NumShards {
		for sn.Step(shard, 10) {
			x.change()
		}
	}
	require.Equal(t, before, handed)
	want, got, _, err := x.take(10, 10)
	require.NoError(t, err)
	require.Equal(t, want, got, "the next one is whole")
}

// TestASnapshotEndsWhileKeysCome: however many come between two steps, and
// however often everything is flushed.
func TestASnapshotEndsWhileKeysCome(t *testing.T) {
	x := newSnapshotTest(20, 300)
	want, got := contentsOf(x.s), contents{}
	sn := x.s.BeginSnapshot(func(db int, n *store.Node) { _ = got.add(db, n) })
	steps := 0
	for shard := range store.NumShards {
		for sn.Step(shard, 8) {
			for i := range 8 {
				x.s.DB(0).Put(fmt.Appendf(nil, "new:%d:%d", steps, i), store.NewInt(0))
			}
			if steps++; steps%10 == 0 {
				x.s.DB(0).Flush()
			}
			require.Less(t, steps, 100_000)
		}
	}
	require.Equal(t, want, got)
}

// TestBeginningAsksForTheSameWhateverIsThere: what it allocates, and hands out,
// does not grow with the keys.
func TestBeginningAsksForTheSameWhateverIsThere(t *testing.T) {
	allocs := func(keys int) float64 {
		handed := 0
		stores := []*store.Store{newSnapshotTest(1, keys).s, newSnapshotTest(2, keys).s} // it is run twice
		n := testing.AllocsPerRun(1, func() {
			stores[0].BeginSnapshot(func(int, *store.Node) { handed++ })
			stores = stores[1:]
		})
		require.Zero(t, handed)
		return n
	}
	require.LessOrEqual(t, allocs(5_000), allocs(0))
}
