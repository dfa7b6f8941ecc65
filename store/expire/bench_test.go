package expire

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var benchSizes = []int{1_000, 1_000_000}

func benchIndex(size int) (*Index[*entry], []entry, *rand.Rand) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := newIndex()
	entries := make([]entry, size)
	for i := range entries {
		x.File(&entries[i], rng.Int64N(60_000))
	}
	return x, entries, rng
}

// The hot path: one key is extended again and again.
func BenchmarkExtend(b *testing.B) {
	x, entries, _ := benchIndex(1000)
	e := &entries[500]
	b.Run("Covers", func(b *testing.B) {
		b.ReportAllocs()
		due := int64(60_000)
		for b.Loop() {
			if due++; !e.h.Covers(due) {
				x.File(e, due)
			}
		}
	})
	b.Run("File", func(b *testing.B) {
		b.ReportAllocs()
		due := int64(60_000)
		for b.Loop() {
			due++
			x.File(e, due)
		}
	})
}

// What is due is filed again one window later.
func BenchmarkDueRefile(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			x, _, _ := benchIndex(size)
			b.ReportAllocs()
			for b.Loop() {
				due, _ := x.Next()
				e, _ := x.Due(due)
				x.Refile(e, due+60_000)
			}
		})
	}
}

func BenchmarkRemoveFile(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			x, entries, rng := benchIndex(size)
			b.ReportAllocs()
			for b.Loop() {
				e := &entries[rng.IntN(size)]
				x.Remove(e)
				x.File(e, rng.Int64N(60_000))
			}
		})
	}
}

// One of many equal deadlines is reclaimed and comes back.
func BenchmarkEqualDeadlines(b *testing.B) {
	x := newIndex()
	for range 1_000_000 {
		x.File(&entry{}, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		e, _ := x.Due(1)
		x.Remove(e)
		x.File(e, 1)
	}
}
