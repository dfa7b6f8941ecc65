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

// A table is a Dict or the Go map that it is compared with.
type table interface {
	has(key []byte) bool
	put(key []byte)
	remove(key []byte)
}

type dictTable struct{ Dict[int64] }

func (d *dictTable) has(key []byte) bool { return d.Get(Hash(key), key) != nil }
func (d *dictTable) put(key []byte)      { d.Put(Hash(key), key) }
func (d *dictTable) remove(key []byte)   { d.Delete(Hash(key), key) }

type mapTable map[string]*int64

func (m mapTable) has(key []byte) bool { return m[string(key)] != nil }
func (m mapTable) put(key []byte)      { m[string(key)] = new(int64) }
func (m mapTable) remove(key []byte)   { delete(m, string(key)) }

// onTables runs a benchmark with a function that fills a Dict, and with one that fills a map.
func onTables(b *testing.B, size int, run func(b *testing.B, filled func(keys [][]byte) table)) {
	for name, fresh := range map[string]func() table{
		"dict": func() table { return &dictTable{} }, "map": func() table { return mapTable{} },
	} {
		b.Run(fmt.Sprint(name, "/", size), func(b *testing.B) {
			b.ReportAllocs()
			run(b, func(keys [][]byte) table {
				t := fresh()
				for _, k := range keys {
					t.put(k)
				}
				return t
			})
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range benchSizes {
		keys := benchKeys(size)
		onTables(b, size, func(b *testing.B, filled func([][]byte) table) {
			t := filled(keys)
			for i := 0; b.Loop(); i++ {
				if !t.has(keys[i%size]) {
					b.Fatal("lost")
				}
			}
		})
	}
}

// BenchmarkPutDelete measures one insertion and one deletion at a steady size.
func BenchmarkPutDelete(b *testing.B) {
	for _, size := range benchSizes {
		keys := benchKeys(2 * size)
		onTables(b, size, func(b *testing.B, filled func([][]byte) table) {
			t := filled(keys[:size])
			for i := 0; b.Loop(); i++ {
				t.put(keys[(size+i)%len(keys)])
				t.remove(keys[i%len(keys)])
			}
		})
	}
}

// BenchmarkFill fills a table from empty to size; ns and B are for the whole table.
func BenchmarkFill(b *testing.B) {
	keys := benchKeys(100_000)
	onTables(b, len(keys), func(b *testing.B, filled func([][]byte) table) {
		for b.Loop() {
			filled(keys)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	var d dictTable
	for _, k := range benchKeys(100_000) {
		d.put(k)
	}
	b.ReportAllocs()
	cursor, sum := uint64(0), int64(0)
	for b.Loop() {
		cursor = d.Scan(cursor, func(n *Node[int64]) { sum += n.Value })
	}
}

func BenchmarkRandom(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var d dictTable
			for _, k := range benchKeys(size) {
				d.put(k)
			}
			b.ReportAllocs()
			for b.Loop() {
				d.Random(rng.Uint64N)
			}
		})
	}
}
