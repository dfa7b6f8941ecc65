package dict

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var benchSizes = []int{100, 10_000, 1_000_000}

func benchKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "user:%08d", i)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

func BenchmarkGet(b *testing.B) {
	for _, size := range benchSizes {
		keys := benchKeys(size)
		b.Run(fmt.Sprintf("dict/%d", size), func(b *testing.B) {
			var d Dict[int64]
			for _, k := range keys {
				d.Put(Hash(k), k)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				k := keys[i]
				if d.Get(Hash(k), k) == nil {
					b.Fatal("lost")
				}
				if i++; i == size {
					i = 0
				}
			}
		})
		b.Run(fmt.Sprintf("map/%d", size), func(b *testing.B) {
			m := map[string]*int64{}
			for _, k := range keys {
				m[string(k)] = new(int64)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if m[string(keys[i])] == nil {
					b.Fatal("lost")
				}
				if i++; i == size {
					i = 0
				}
			}
		})
	}
}

// BenchmarkPutDelete measures one insertion and one deletion at a steady size.
func BenchmarkPutDelete(b *testing.B) {
	for _, size := range benchSizes {
		keys := benchKeys(2 * size)
		b.Run(fmt.Sprintf("dict/%d", size), func(b *testing.B) {
			var d Dict[int64]
			for _, k := range keys[:size] {
				d.Put(Hash(k), k)
			}
			b.ReportAllocs()
			in, out := size, 0
			for b.Loop() {
				k := keys[in]
				d.Put(Hash(k), k)
				k = keys[out]
				d.Delete(Hash(k), k)
				if in++; in == len(keys) {
					in = 0
				}
				if out++; out == len(keys) {
					out = 0
				}
			}
		})
		b.Run(fmt.Sprintf("map/%d", size), func(b *testing.B) {
			m := map[string]*int64{}
			for _, k := range keys[:size] {
				m[string(k)] = new(int64)
			}
			b.ReportAllocs()
			in, out := size, 0
			for b.Loop() {
				m[string(keys[in])] = new(int64)
				delete(m, string(keys[out]))
				if in++; in == len(keys) {
					in = 0
				}
				if out++; out == len(keys) {
					out = 0
				}
			}
		})
	}
}

// BenchmarkFill fills a table from empty to size; ns and B are for the whole table.
func BenchmarkFill(b *testing.B) {
	const size = 100_000
	keys := benchKeys(size)
	b.Run("dict", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var d Dict[int64]
			for _, k := range keys {
				d.Put(Hash(k), k)
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := map[string]*int64{}
			for _, k := range keys {
				m[string(k)] = new(int64)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	var d Dict[int64]
	for _, k := range benchKeys(100_000) {
		d.Put(Hash(k), k)
	}
	b.ReportAllocs()
	cursor, sum := uint64(0), int64(0)
	for b.Loop() {
		cursor = d.Scan(cursor, func(n *Node[int64]) { sum += n.Value })
	}
}

func BenchmarkRandom(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var d Dict[int64]
			for _, k := range benchKeys(size) {
				d.Put(Hash(k), k)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			b.ReportAllocs()
			for b.Loop() {
				d.Random(rng.Uint64N)
			}
		})
	}
}
