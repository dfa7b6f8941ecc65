package zset

import (
	"fmt"
	"testing"
)

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
