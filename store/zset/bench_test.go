package zset

import (
	"fmt"
	"testing"
)

// gap is the mean distance between the units that benchmarks append, in
// microseconds: a few thousand hits a second take one byte, slower keys two or
// three.
const gap = 6000

// logOf returns a log of n units some gap apart.
func logOf(n int) *Set {
	s := new(Set)
	v := int64(1_700_000_000_000_000)
	for i := range n {
		v += gap/2 + int64(i*7919%gap)
		s.AppendRun(v, 1)
	}
	return s
}

// A full window that slides: one unit leaves, one comes.
func BenchmarkSlide(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := logOf(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.DropThrough(s.Oldest())
				s.AppendRun(s.Newest()+gap/2+int64(i*7919%gap), 1)
				i++
			}
			b.ReportMetric(float64(s.Bytes())/float64(n), "bytes/unit")
		})
	}
}

// What a denied call asks: how many are left of a window whose oldest units
// have just expired, and when the next one will.
func BenchmarkDenied(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := logOf(n)
			b.ReportAllocs()
			for b.Loop() {
				left := s.CountAfter(s.Oldest() + 2*gap)
				s.UnitAt(n - left)
			}
		})
	}
}

// DropThrough of a million expired units; making the next million is not timed.
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

// An arrival that is a little late, as from clients whose clocks differ.
func BenchmarkLateArrival(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := logOf(n)
			b.ReportAllocs()
			var member [maxDigits + 3]byte
			i := int64(0)
			for b.Loop() {
				i++
				v := s.Newest() - i*7919%(20*gap)
				m := numberEntry(v).AppendMember(member[:0])
				if _, held := s.Add(m, float64(v)); !held {
					s.Remove(m)
				}
			}
		})
	}
}

func BenchmarkCountAfter(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := logOf(n)
			width := s.Newest() - s.Oldest()
			b.ReportAllocs()
			i := int64(0)
			for b.Loop() {
				i++
				s.CountAfter(s.Oldest() + i*7919%width)
			}
		})
	}
}

func BenchmarkUnitAt(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := logOf(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				s.UnitAt(i * 7919 % n)
			}
		})
	}
}

// Removing the oldest of a million members that are no numbers: all but ten, and
// half of them.
func BenchmarkTreeRemove(b *testing.B) {
	members, scores := hitMembers(1_000_000, false)
	for _, n := range []int{1_000, 500_000, 999_990} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
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
