package engine_test

import (
	"fmt"
	"testing"
)

// BenchmarkDoctor measures commands of limiters, on 256 keys, without and with rl-doctor.
// RL.ALLOW is one that no rule looks at.
func BenchmarkDoctor(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"RL.ALLOW", "RL.ALLOW a%d 100 1m"},
		{"ZADD", "ZADD z%d 1700000000000 %[1]d-x"},
		{"ZADD-merged", "ZADD m%d 1700000000000 1700000000000"},
		{"ZREMRANGEBYSCORE", "ZREMRANGEBYSCORE z%d 0 1699999940000"},
		{"ZCARD", "ZCARD z%d"},
		{"INCR", "INCR n%d"},
	} {
		for _, on := range []string{"no", "yes"} {
			b.Run(c.name+"/"+on, func(b *testing.B) {
				e, _ := newEngine(b, "--rl-doctor", on)
				s := newSession(b, e)
				lines := make([][][]byte, 256)
				for i := range lines {
					lines[i] = args(fmt.Sprintf(c.line, i))
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					s.Do(lines[i%len(lines)])
				}
			})
		}
	}
}
