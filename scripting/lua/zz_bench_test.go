package lua

import (
	"os"
	"testing"
)

func BenchmarkFile(b *testing.B) {
	for _, n := range []string{"fib", "loop", "fill", "field"} {
		src, _ := os.ReadFile("/tmp/" + n + ".lua")
		b.Run(n, func(b *testing.B) {
			s := NewState()
			fn, err := s.Load(string(src), "x")
			if err != nil {
				b.Fatal(err)
			}
			L := s.Main()
			for range b.N {
				L.Push(FunctionValue(fn))
				if e := L.PCall(0, Nil); e != nil {
					b.Fatal(e)
				}
				L.SetTop(0)
			}
		})
	}
}
