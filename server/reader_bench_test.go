package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

// BenchmarkReader parses commands of RL.ALLOW's size, and compares with redcon
// alone on the same bytes.
func BenchmarkReader(b *testing.B) {
	command := encode("RL.ALLOW", "rate_limit:{user_123}:api", "100", "60s")
	for _, depth := range []int{1, 16} {
		packet := []byte(strings.Repeat(command, depth))
		b.Run(fmt.Sprintf("reader/pipeline=%d", depth), func(b *testing.B) {
			r := newReader(defaultLimits())
			b.ReportAllocs()
			for b.Loop() {
				r.filled(copy(r.free(), packet))
				n := 0
				for {
					_, ok, err := r.next()
					if err != nil {
						b.Fatal(err)
					}
					if !ok {
						break
					}
					n++
				}
				if n != depth {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/command")
		})
		b.Run(fmt.Sprintf("redcon/pipeline=%d", depth), func(b *testing.B) {
			buf := make([]byte, minBuffer)
			var args [][]byte
			b.ReportAllocs()
			for b.Loop() {
				rest := buf[:copy(buf, packet)]
				n := 0
				for len(rest) > 0 {
					var ok bool
					var err error
					ok, args, _, rest, err = redcon.ReadNextCommand(rest, args[:0])
					if err != nil || !ok {
						b.Fatal(ok, err)
					}
					n++
				}
				if n != depth {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/command")
		})
	}
}
