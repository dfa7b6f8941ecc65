package engine_test

import (
	"fmt"
	"testing"
)

// BenchmarkTop is RL.ALLOW with and without counts for RL.TOP.
func BenchmarkTop(b *testing.B) {
	for _, keys := range []int{1, 100, 10_000, 1_000_000} {
		for _, mode := range [][]string{
			{"--rl-top", "no"}, {"--rl-top", "yes"}, {"--rl-top-sampling", "1"},
		} {
			b.Run(fmt.Sprintf("keys=%d/%s=%s", keys, mode[0][2:], mode[1]), func(b *testing.B) {
				e, _ := newEngine(b, mode...)
				s := newSession(b, e)
				calls := make([][][]byte, min(keys, 20_000))
				for i := range calls {
					calls[i] = args(fmt.Sprintf("RL.ALLOW rl:{user:%d} 2 1m", i*7919%keys))
				}
				for i := range calls {
					s.Do(calls[i])
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					s.Do(calls[i%len(calls)])
					if i++; i%16 == 0 {
						s.Count()
					}
				}
			})
		}
	}
}
