package zset

import (
	"fmt"
	"testing"
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

// BenchmarkSlide slides a full window: one unit is removed, one appended.
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
			b.ReportMetric(float64(s.Memory())/float64(n), "bytes/unit")
		})
	}
}

// BenchmarkDenied measures the queries of a denied call: how many units are left of a window whose oldest
// have just expired, and when the next one expires.
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

// BenchmarkLateArrival adds units that are a little late, as from clients whose clocks differ.
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
