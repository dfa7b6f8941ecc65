package expire

import (
	"math/rand/v2"
	"testing"
)

func benchIndex(keys int) (*Index, *rand.Rand) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := new(Index)
	x.File(0, 60_000)
	x.Fit(keys)
	for range keys {
		x.File(rng.Uint32(), rng.Int64N(60_000))
	}
	return x, rng
}

// The hot path: keys are extended again and again.
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

// The group that is due next, settled a window later.
func BenchmarkDueSettle(b *testing.B) {
	x, _ := benchIndex(16_384)
	now := int64(0)
	for b.Loop() {
		group, ok := x.Due(now)
		if !ok {
			now += 100
			continue
		}
		x.Settle(group, now+60_000)
	}
}
