package topk_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine/stats/topk"
)

// An exact counts a stream without any bound: what a Sketch is compared with.
type exact map[topk.Key]int64

func (x exact) add(db int, name string, n int64) { x[topk.Key{DB: db, Name: name}] += n }

// fault returns how a Sketch contradicts the exact counts of its stream, or "". kept is
// the fewest entries that any of its drops has left.
func (x exact) fault(s *topk.Sketch, kept int64) string {
	total := int64(0)
	for _, n := range x {
		total += n
	}
	if s.Total() != total {
		return fmt.Sprintf("total is %d, not %d", s.Total(), total)
	}
	listed := make(map[topk.Key]bool)
	for _, e := range s.Entries() {
		switch n := x[e.Key]; {
		case listed[e.Key]:
			return fmt.Sprintf("%v is listed twice", e.Key)
		case n > e.Count || n < e.Count-e.Error:
			return fmt.Sprintf("%v occurs %d times, not %d-%d", e.Key, n, e.Count, e.Error)
		case e.Error > s.Absent() || e.Count < s.Absent():
			return fmt.Sprintf("%v: bounds %d-%d, but absent %d", e.Key, e.Count, e.Error, s.Absent())
		}
		listed[e.Key] = true
	}
	for key, n := range x {
		if !listed[key] && n > s.Absent() {
			return fmt.Sprintf("%v occurs %d times and is not listed: absent %d", key, n, s.Absent())
		}
	}
	if s.Absent() > total/(kept+1) {
		return fmt.Sprintf("absent keys have up to %d of %d", s.Absent(), total)
	}
	return ""
}

func add(s *topk.Sketch, db int, name string, n int64) {
	s.Add(topk.Hash([]byte(name)), db, []byte(name), n, [2]int64{})
}

// streams are sources of keys: element i of a stream.
var streams = map[string]func(r *rand.Rand) func(i int) (db int, name string, n int64){
	"Zipf": func(r *rand.Rand) func(int) (int, string, int64) {
		z := rand.NewZipf(r, 1.1, 1, 1<<20)
		return func(int) (int, string, int64) { return 0, fmt.Sprint("k", z.Uint64()), 1 }
	},
	"flat Zipf, weights": func(r *rand.Rand) func(int) (int, string, int64) {
		z := rand.NewZipf(r, 1.001, 100, 1<<14)
		return func(int) (int, string, int64) {
			return int(r.Uint64N(2)), fmt.Sprint("k", z.Uint64()), 1 + r.Int64N(20)
		}
	},
	"all different": func(*rand.Rand) func(int) (int, string, int64) {
		return func(i int) (int, string, int64) { return 0, fmt.Sprint("k", i), 1 }
	},
	"all different, then one": func(*rand.Rand) func(int) (int, string, int64) {
		return func(i int) (int, string, int64) {
			if i > 4_000 {
				i = -1
			}
			return 0, fmt.Sprint("k", i), 1
		}
	},
	"in turn, one more than fit": func(*rand.Rand) func(int) (int, string, int64) {
		return func(i int) (int, string, int64) { return 0, fmt.Sprint("k", i%257), 1 }
	},
	"heavy ones between crowds": func(r *rand.Rand) func(int) (int, string, int64) {
		return func(i int) (int, string, int64) {
			if i%3 == 0 {
				return 0, fmt.Sprint("heavy", r.Uint64N(20)), 1
			}
			return i % 16, fmt.Sprint("k", i), 1
		}
	},
	"each often, then never": func(*rand.Rand) func(int) (int, string, int64) {
		return func(i int) (int, string, int64) { return 0, fmt.Sprint("k", i/40), 1 }
	},
}

// TestSketchBounds: the bounds hold for every key of every stream, at every length.
func TestSketchBounds(t *testing.T) {
	for name, stream := range streams {
		for _, capacity := range []int{2, 16, 256} {
			next, x, s := stream(rand.New(rand.NewPCG(1, 2))), exact{}, topk.New(capacity)
			for i := range 8_000 {
				db, key, n := next(i)
				x.add(db, key, n)
				add(s, db, key, n)
				require.LessOrEqual(t, s.Len(), capacity, "%s: memory", name)
				if i%997 == 0 {
					require.Empty(t, x.fault(s, int64(capacity/2)), "%s, %d, element %d", name, capacity, i)
				}
			}
			require.Empty(t, x.fault(s, int64(capacity/2)), "%s, capacity %d", name, capacity)
		}
	}
}

// TestMergedBounds: the bounds hold of merged and pruned sketches, too.
func TestMergedBounds(t *testing.T) {
	for name, stream := range streams {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 3))
			next, x, sum := stream(r), exact{}, topk.New(64)
			i := 0
			for range 20 {
				part, own := topk.New(32), exact{}
				for range r.IntN(3000) {
					db, key, n := next(i)
					x.add(db, key, n)
					own.add(db, key, n)
					add(part, db, key, n)
					i++
				}
				if r.IntN(3) == 0 {
					part.Prune(10)
				}
				require.Empty(t, own.fault(part, 10), "%s, seed %d: a part", name, seed)
				sum.Merge(part)
				require.Empty(t, own.fault(part, 10), "%s, seed %d: Merge changed its argument", name, seed)
				require.LessOrEqual(t, sum.Len(), 64, "%s: memory", name)
				require.Empty(t, x.fault(sum, 10), "%s, seed %d", name, seed)
			}
		}
	}
}

// TestEqualHashes: keys whose hashes are equal, or follow each other, are told apart.
func TestEqualHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x, s := exact{}, topk.New(8)
	for i := range 5_000 {
		k := r.Uint64N(16)
		name := fmt.Sprint("k", k)
		x.add(0, name, 1)
		s.Add(k/4, 0, []byte(name), 1, [2]int64{})
		if i%100 == 0 {
			part := topk.New(4)
			part.Add(k/4, 0, []byte(name), 1, [2]int64{})
			x.add(0, name, 1)
			s.Merge(part)
		}
		require.Empty(t, x.fault(s, 4), "element %d", i)
	}
}

// TestFaultFinds: each check of fault can fail.
func TestFaultFinds(t *testing.T) {
	made := func() (exact, *topk.Sketch) {
		x, s := exact{}, topk.New(4)
		for i := range 100 {
			name := fmt.Sprint("k", i%7%5)
			x.add(0, name, 1)
			add(s, 0, name, 1)
		}
		return x, s
	}
	x, s := made()
	require.Empty(t, x.fault(s, 2))
	x.add(0, "k0", 1)
	require.Contains(t, x.fault(s, 2), "total")
	x, s = made()
	s.Entries()[0].Count = 1
	require.NotEmpty(t, x.fault(s, 2))
	x, s = made()
	s.Entries()[0].Error = 0
	s.Entries()[0].Count += 1000
	require.Contains(t, x.fault(s, 2), "occurs")
	x, s = made()
	s.Entries()[1].Key = s.Entries()[0].Key
	require.NotEmpty(t, x.fault(s, 2))
	x, s = made()
	require.Contains(t, x.fault(s, 50), "of 100")
	x, s = exact{}, topk.New(0)
	x.add(0, "a", 2)
	add(s, 0, "b", 2)
	require.Contains(t, x.fault(s, 1), "occurs 0 times")
}

// TestAddAllocates: counting a key that is known allocates nothing.
func TestAddAllocates(t *testing.T) {
	s, name := topk.New(16), []byte("a key with a name of usual length")
	s.Add(topk.Hash(name), 0, name, 1, [2]int64{})
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Add(topk.Hash(name), 0, name, 1, [2]int64{}) }))
}

func BenchmarkAdd(b *testing.B) {
	for _, keys := range []uint64{1, 200, 1 << 20} {
		names := make([][]byte, 1<<16)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range names {
			names[i] = fmt.Appendf(nil, "rl:{user:%d}", r.Uint64N(keys))
		}
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			b.ReportAllocs()
			s, i := topk.New(256), 0
			for b.Loop() {
				name := names[i&(1<<16-1)]
				s.Add(topk.Hash(name), 0, name, 1, [2]int64{})
				i++
			}
		})
	}
}
