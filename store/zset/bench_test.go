package zset

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/btree"

	"github.com/zlimit/zlimit/store/dict"
)

// gap is the mean distance, in microseconds, between the units that benchmarks append. A few thousand hits a
// second take one byte each, slower keys two or three.
const gap = 6000

// logOf returns a log of n units, about gap apart.
func logOf(n int) *Set {
	s := new(Set)
	v := int64(1_700_000_000_000_000)
	for i := range n {
		v += gap/2 + int64(i*7919%gap)
		s.AppendRun(v, 1)
	}
	return s
}

// limiterMembers returns n members like those of limiters, an instant and a random suffix, in order of their
// instants or shuffled.
func limiterMembers(n int, shuffled bool) (members [][]byte, scores []float64) {
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	members, scores = make([][]byte, n), make([]float64, n)
	for i := range n {
		v := 1_700_000_000_000 + int64(i)*7
		members[i] = fmt.Appendf(nil, "%d-%08x", v, rng.Uint32())
		scores[i] = float64(v)
	}
	if shuffled {
		rng.Shuffle(n, func(i, j int) {
			members[i], members[j] = members[j], members[i]
			scores[i], scores[j] = scores[j], scores[i]
		})
	}
	return members, scores
}

func heapNow() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// overLogs runs a benchmark on logs of several sizes. i is the number of the call.
func overLogs(b *testing.B, call func(s *Set, n, i int)) {
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := logOf(n)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				call(s, n, i)
			}
			b.ReportMetric(float64(s.Memory())/float64(n), "bytes/unit")
		})
	}
}

// BenchmarkSlide slides a full window: one unit is removed, one appended.
func BenchmarkSlide(b *testing.B) {
	overLogs(b, func(s *Set, _, i int) {
		s.DropThrough(s.Oldest())
		s.AppendRun(s.Newest()+gap/2+int64(i*7919%gap), 1)
	})
}

// BenchmarkDenied measures the queries of a denied call: how many units are left of a window whose oldest
// have just expired, and when the next one expires.
func BenchmarkDenied(b *testing.B) {
	overLogs(b, func(s *Set, n, _ int) { s.UnitAt(int64(n) - s.UnitsAfter(s.Oldest()+2*gap)) })
}

func BenchmarkUnitsAfter(b *testing.B) {
	overLogs(b, func(s *Set, _, i int) { s.UnitsAfter(s.Oldest() + int64(i)*7919%(s.Newest()-s.Oldest())) })
}

func BenchmarkUnitAt(b *testing.B) {
	overLogs(b, func(s *Set, n, i int) { s.UnitAt(int64(i * 7919 % n)) })
}

// BenchmarkLateArrival adds units that are a little late, as from clients whose clocks differ.
func BenchmarkLateArrival(b *testing.B) {
	var member [maxMember]byte
	overLogs(b, func(s *Set, _, i int) {
		v := s.Newest() - int64(i)*7919%(20*gap)
		m := numberEntry(v).AppendMember(member[:0])
		if _, held := s.Add(m, float64(v)); !held {
			s.Remove(m)
		}
	})
}

// BenchmarkDropMillion measures DropThrough of a million expired units.
func BenchmarkDropMillion(b *testing.B) {
	b.ReportAllocs()
	s := logOf(1_000_000)
	for b.Loop() {
		b.StopTimer()
		c := s.Clone()
		b.StartTimer()
		c.DropThrough(c.Newest() - 1)
	}
}

// An ordering is a Set or tree of members.
type ordering interface {
	Add(member []byte, score float64) (old float64, existed bool)
	Remove(member []byte) (score float64, existed bool)
}

// entryTree is the alternative to the tree encoding: a google/btree with one item for each member. ADR 3 has
// the figures of these benchmarks.
type entryTree struct {
	index dict.Dict[float64]
	order *btree.BTreeG[item]
}

func (t *entryTree) Add(member []byte, score float64) (old float64, existed bool) {
	n, created := t.index.Put(dict.Hash(member), member)
	if !created {
		t.order.Delete(item{n.Value, n})
	}
	n.Value = score
	t.order.ReplaceOrInsert(item{score, n})
	return 0, !created
}

func (t *entryTree) Remove(member []byte) (score float64, existed bool) {
	n := t.index.Delete(dict.Hash(member), member)
	t.order.Delete(item{n.Value, n})
	return n.Value, true
}

// orderings make the two trees, and the Set, which packs small ones.
var orderings = map[string]func() ordering{
	"entries": func() ordering {
		return &entryTree{order: btree.NewG(32, func(a, b item) bool { return compareItems(a, b) < 0 })}
	},
	"blocks": func() ordering {
		s := new(Set)
		s.convertToTree()
		return s
	},
	"set": func() ordering { return new(Set) },
}

// overTrees runs a benchmark on every ordering, with several numbers of members.
func overTrees(
	b *testing.B, shuffled bool,
	run func(b *testing.B, filled func() ordering, members [][]byte, scores []float64),
) {
	for _, n := range []int{10, 32, 128, 1_000, 100_000} {
		members, scores := limiterMembers(n, shuffled)
		for name, fresh := range orderings {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				run(b, func() ordering {
					o := fresh()
					for i, m := range members {
						o.Add(m, scores[i])
					}
					return o
				}, members, scores)
			})
		}
	}
}

func BenchmarkTreeFill(b *testing.B) {
	for _, shuffled := range []bool{false, true} {
		b.Run(fmt.Sprint("shuffled=", shuffled), func(b *testing.B) {
			overTrees(b, shuffled, func(b *testing.B, filled func() ordering, members [][]byte, _ []float64) {
				n := len(members)
				for b.Loop() {
					filled()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")
				kept := make([]ordering, max(1, 10_000/n))
				before := heapNow()
				for i := range kept {
					kept[i] = filled()
				}
				b.ReportMetric(float64(heapNow()-before)/float64(n*len(kept)), "bytes/member")
				runtime.KeepAlive(kept)
			})
		})
	}
}

// BenchmarkTreeSlide slides a full window of unique members.
func BenchmarkTreeSlide(b *testing.B) {
	overTrees(b, false, func(b *testing.B, filled func() ordering, members [][]byte, scores []float64) {
		o, n := filled(), len(members)
		for i := 0; b.Loop(); i++ {
			o.Remove(members[i%n])
			o.Add(members[i%n], scores[n-1]+float64(i+1))
		}
	})
}

// BenchmarkTreeRescore changes the score of any member, as ZINCRBY and renewed leases do.
func BenchmarkTreeRescore(b *testing.B) {
	overTrees(b, true, func(b *testing.B, filled func() ordering, members [][]byte, scores []float64) {
		o, n := filled(), len(members)
		for i := 0; b.Loop(); i++ {
			o.Add(members[i*7919%n], scores[i*104729%n]+float64(i%13)/16)
		}
	})
}

func BenchmarkTreeRank(b *testing.B) {
	overTrees(b, true, func(b *testing.B, filled func() ordering, members [][]byte, _ []float64) {
		o, n := filled(), len(members)
		for i := 0; b.Loop(); i++ {
			m := members[i*7919%n]
			switch o := o.(type) {
			case *Set:
				o.Rank(m)
			case *entryTree:
				node, rank := o.index.Get(dict.Hash(m), m), 0
				o.order.AscendLessThan(item{node.Value, node}, func(item) bool { rank++; return true })
			}
		}
	})
}

// BenchmarkTreeRemove removes the oldest of a million members that are not numbers. They were added in order
// or shuffled.
func BenchmarkTreeRemove(b *testing.B) {
	for _, shuffled := range []bool{false, true} {
		members, scores := limiterMembers(1_000_000, shuffled)
		for _, n := range []int{1_000, 500_000, 999_990} {
			b.Run(fmt.Sprintf("shuffled=%t/%d", shuffled, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					s := new(Set)
					for i, m := range members {
						s.Add(m, scores[i])
					}
					b.StartTimer()
					s.RemoveByRank(0, n)
				}
			})
		}
	}
}

// BenchmarkLeaveLog adds the first member that is no number to a log of a million hits.
func BenchmarkLeaveLog(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := logOf(1_000_000)
		b.StartTimer()
		s.Add([]byte("a name"), 1)
	}
}

// BenchmarkRemoveMany removes 5,000 of a million random members, as a long ZREM does, and adds them again.
func BenchmarkRemoveMany(b *testing.B) {
	members, scores := limiterMembers(1_000_000, true)
	s := new(Set)
	for i, m := range members {
		s.Add(m, scores[i])
	}
	for _, ahead := range []bool{false, true} {
		b.Run(fmt.Sprint("ahead=", ahead), func(b *testing.B) {
			at := 0
			for b.Loop() {
				some := members[at : at+5000]
				for i, m := range some {
					if ahead && i%MembersAhead == 0 {
						s.ReadMembersAhead(some[i:], 1)
					}
					s.Remove(m)
				}
				b.StopTimer()
				for i, m := range some {
					s.Add(m, scores[at+i])
				}
				at = (at + 5000) % len(members)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5000, "ns/member")
		})
	}
}

// BenchmarkWeighted measures a limiter's call of several units on a log of n entries: drop one, append one,
// count a part.
func BenchmarkWeighted(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := weightedLog(n)()
			b.ReportMetric(float64(s.Memory())/float64(n), "B/entry")
			for b.Loop() {
				s.DropThrough(s.Oldest())
				s.Append(s.Newest()+gap, 700)
				s.UnitsAfter(s.Oldest() + 2*gap)
			}
		})
	}
}
