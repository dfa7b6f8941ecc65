package zset

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/btree"

	"github.com/zlimit/zlimit/store/dict"
)

// entryTree is the alternative to the tree encoding: a google/btree with one item for each member. ADR 3 has
// the figures of these benchmarks.
type entryTree struct {
	index dict.Dict[float64]
	order *btree.BTreeG[item]
}

func newEntryTree() *entryTree {
	return &entryTree{order: btree.NewG(32, func(a, b item) bool { return compareItems(a, b) < 0 })}
}

func (t *entryTree) add(member []byte, score float64) {
	n, created := t.index.Put(dict.Hash(member), member)
	if !created {
		t.order.Delete(item{n.Value, n})
	}
	n.Value = score
	t.order.ReplaceOrInsert(item{score, n})
}

func (t *entryTree) remove(member []byte) {
	n := t.index.Delete(dict.Hash(member), member)
	t.order.Delete(item{n.Value, n})
}

// orderings are the two trees, and the Set, which packs small ones, behind one interface.
var orderings = []struct {
	name  string
	fresh func() (add func([]byte, float64), remove func([]byte), keep any)
}{
	{"entries", func() (func([]byte, float64), func([]byte), any) {
		t := newEntryTree()
		return t.add, t.remove, t
	}},
	{"blocks", func() (func([]byte, float64), func([]byte), any) {
		t := newTree()
		return func(m []byte, s float64) { t.add(m, s) }, func(m []byte) { t.remove(m) }, t
	}},
	{"set", func() (func([]byte, float64), func([]byte), any) {
		s := new(Set)
		return func(m []byte, f float64) { s.Add(m, f) }, func(m []byte) { s.Remove(m) }, s
	}},
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

func BenchmarkTreeFill(b *testing.B) {
	for _, n := range []int{10, 32, 128, 1_000, 100_000} {
		for _, shuffled := range []bool{false, true} {
			members, scores := limiterMembers(n, shuffled)
			for _, o := range orderings {
				b.Run(fmt.Sprintf("%d/shuffled=%v/%s", n, shuffled, o.name), func(b *testing.B) {
					for b.Loop() {
						add, _, _ := o.fresh()
						for i, m := range members {
							add(m, scores[i])
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")

					sets := max(1, 10_000/n)
					kept := make([]any, sets)
					before := heapNow()
					for s := range kept {
						add, _, t := o.fresh()
						for i, m := range members {
							add(m, scores[i])
						}
						kept[s] = t
					}
					b.ReportMetric(float64(heapNow()-before)/float64(n*sets), "bytes/member")
					runtime.KeepAlive(kept)
				})
			}
		}
	}
}

// BenchmarkTreeSlide slides a full window of unique members.
func BenchmarkTreeSlide(b *testing.B) {
	for _, n := range []int{10, 32, 128, 1_000, 100_000} {
		members, scores := limiterMembers(n, false)
		for _, o := range orderings {
			b.Run(fmt.Sprintf("%d/%s", n, o.name), func(b *testing.B) {
				add, remove, _ := o.fresh()
				for i, m := range members {
					add(m, scores[i])
				}
				b.ReportAllocs()
				i, last := 0, scores[n-1]
				for b.Loop() {
					last++
					remove(members[i])
					add(members[i], last)
					i = (i + 1) % n
				}
			})
		}
	}
}

// BenchmarkTreeRescore changes the score of any member, as ZINCRBY and renewed leases do.
func BenchmarkTreeRescore(b *testing.B) {
	for _, n := range []int{10, 32, 128, 1_000, 100_000} {
		members, scores := limiterMembers(n, true)
		for _, o := range orderings {
			b.Run(fmt.Sprintf("%d/%s", n, o.name), func(b *testing.B) {
				add, _, _ := o.fresh()
				for i, m := range members {
					add(m, scores[i])
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					add(members[i*7919%n], scores[i*104729%n]+float64(i%13)/16)
					i++
				}
			})
		}
	}
}

func BenchmarkTreeRank(b *testing.B) {
	for _, n := range []int{10, 32, 128, 1_000, 100_000} {
		members, scores := limiterMembers(n, true)
		var s Set
		for i, m := range members {
			s.Add(m, scores[i])
		}
		b.Run(fmt.Sprintf("ZRANK/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Rank(members[i*7919%n])
				i++
			}
		})
		t := newEntryTree()
		for i, m := range members {
			t.add(m, scores[i])
		}
		b.Run(fmt.Sprintf("ZRANK/%d/entries", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				m := members[i*7919%n]
				node, rank := t.index.Get(dict.Hash(m), m), 0
				t.order.AscendLessThan(item{node.Value, node}, func(item) bool { rank++; return true })
				i++
			}
		})
		b.Run(fmt.Sprintf("At/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.At(i * 7919 % n)
				i++
			}
		})
	}
}
