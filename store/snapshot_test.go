package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

// contents is the content of the keyspace, by database and key.
type contents map[string]string

func (c contents) add(db int, n *store.Node) error {
	at, _ := n.Value.ExpireAtMs()
	name := fmt.Sprint(db, "/", n.Key())
	if _, exists := c[name]; exists {
		return fmt.Errorf("%s was emitted out twice", name)
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

// A snapshotTest changes a keyspace at random while snapshots are made of it.
type snapshotTest struct {
	rng        *rand.Rand
	s          *store.Store
	now        int64
	keys       int  // number of key names
	noPreserve bool // omit the call of Preserve
}

func (x *snapshotTest) key() []byte { return fmt.Appendf(nil, "key:%d", x.rng.IntN(x.keys)) }

func (x *snapshotTest) db() *store.DB { return x.s.DB(x.rng.IntN(3)) }

// change makes a random change, as a command might.
func (x *snapshotTest) change() {
	db, key := x.db(), x.key()
	switch x.rng.IntN(40) {
	case 0:
		x.s.Swap(x.rng.IntN(4), x.rng.IntN(4), 0)
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
	case 4: // grow the tables
		for range 200 {
			db.Put(x.key(), store.NewInt(x.rng.Int64N(1000)))
		}
		return
	case 5: // shrink them
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
		if !x.noPreserve {
			db.Preserve(key)
		}
		store.StringOf(n).Append([]byte("+"))
		db.Modified(n)
	}
}

// run makes one snapshot, with changes between its steps.
func (x *snapshotTest) run(changes, slice int) (want, got contents, late int64, err error) {
	got = contents{}
	emitted := 0
	sn := x.s.BeginSnapshot(func(db int, n *store.Node) {
		emitted++
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
		emitted = 0
		if !sn.Step(left[i], slice) {
			left[i] = left[len(left)-1]
			left = left[:len(left)-1]
		}
		if emitted > slice+16 {
			err = fmt.Errorf("%d nodes in a step of %d", emitted, slice)
		}
	}
	return want, got, sn.Unpreserved(), err
}

func newSnapshotTest(seed uint64, keys int) *snapshotTest {
	x := &snapshotTest{rng: rand.New(rand.NewPCG(seed, 1)), s: store.New(), now: nowMs, keys: keys}
	for range keys {
		x.db().Put(x.key(), store.NewInt(x.rng.Int64N(1000)))
	}
	return x
}

func TestSnapshotIsConsistent(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	for _, keys := range []int{10, 300} {
		for _, slice := range []int{1, 20} {
			x := newSnapshotTest(seed+uint64(slice), keys)
			for round := range 3 {
				want, got, late, err := x.run(4*round, slice)
				require.NoError(t, err)
				require.Zero(t, late)
				require.Equal(t, want, got)
				require.Nil(t, x.s.Snapshot(), "ended")
			}
		}
	}
}

// TestSnapshotWithoutPreserve omits the call of Preserve: both the comparison and the snapshot itself must
// detect that.
func TestSnapshotWithoutPreserve(t *testing.T) {
	race.OneGoroutine(t)
	x := newSnapshotTest(20, 300)
	x.noPreserve = true
	want, got, late, err := x.run(200, 3)
	require.NoError(t, err)
	require.NotEqual(t, want, got)
	require.NotZero(t, late)
}

func TestAbortedSnapshotEmitsNothing(t *testing.T) {
	x := newSnapshotTest(20, 1000)
	emitted := 0
	sn := x.s.BeginSnapshot(func(int, *store.Node) { emitted++ })
	for shard := range store.NumShards / 2 {
		sn.Step(shard, math.MaxInt)
	}
	sn.Abort()
	before := emitted
	require.Nil(t, x.s.BeginSnapshot(nil), "one at a time")
	for range 500 {
		x.change()
	}
	for shard := range store.NumShards {
		for sn.Step(shard, 10) {
			x.change()
		}
	}
	require.Equal(t, before, emitted)
	want, got, _, err := x.run(10, 10)
	require.NoError(t, err)
	require.Equal(t, want, got, "the next one is complete")
}

// A snapshot ends however many keys are added between two steps, and however often databases are flushed.
func TestSnapshotEndsWhileKeysAreAdded(t *testing.T) {
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

// What BeginSnapshot allocates and emits must not grow with the keys.
func TestBeginSnapshotIsConstant(t *testing.T) {
	allocs := func(keys int) float64 {
		emitted := 0
		stores := []*store.Store{newSnapshotTest(1, keys).s, newSnapshotTest(2, keys).s} // for two runs
		n := testing.AllocsPerRun(1, func() {
			stores[0].BeginSnapshot(func(int, *store.Node) { emitted++ })
			stores = stores[1:]
		})
		require.Zero(t, emitted)
		return n
	}
	require.LessOrEqual(t, allocs(5_000), allocs(0))
}
