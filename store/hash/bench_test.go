package hash

import (
	"fmt"
	"testing"
)

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{3, 16, smallFields, smallFields + 1, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var h Hash
			fields := make([][]byte, n)
			for i := range fields {
				fields[i] = fmt.Append(nil, "field:", i)
				h.Set(fields[i], []byte("1700000000000"))
			}
			value := []byte("1700000000001")
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				h.Set(fields[i%n], value)
				i++
			}
		})
	}
}
