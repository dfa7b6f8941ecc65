package expire

import (
	"math/rand/v2"
	"testing"
)

func benchIndex(keys int) (*Index, *rand.Rand) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := new(Index)
	x.Add(0, 60_000)
	x.Resize(keys)
	for range keys {
		x.Add(rng.Uint32(), rng.Int64N(60_000))
	}
	return x, rng
}

// BenchmarkExtend measures the hot path: keys are extended again and again.
func BenchmarkExtend(b *testing.B) {
	x, rng := benchIndex(16_384)
	hashes := make([]uint32, 1024)
	for i := range hashes {
		hashes[i] = rng.Uint32()
	}
	due := int64(60_000)
	for i := 0; b.Loop(); i++ {
		if due++; !x.Covers(hashes[i%1024], due) {
			b.Fatal("not covered")
		}
	}
}
