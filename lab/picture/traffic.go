// Command picture draws docs/traffic.svg, to standard output: what each algorithm admits of three loads. It
// measures nothing.
// Package limiter decides, time is a counter, randomness is seeded, and all arithmetic is in integers, so
// that every machine draws the same bytes. keys.go has the keys, svg.go the drawing.
package main

import (
	"math/rand/v2"
	"slices"

	"github.com/zlimit/zlimit/limiter"
)

const (
	limit    int64 = 100
	windowMs int64 = 10_000
	lengthMs       = 40_000
	seed           = 5
	// startMs is on the border of a slice of FIXED, as the edge load needs.
	startMs int64 = 1_700_000_000_000
)

// A traffic is a load: the expected number of requests a second at a millisecond of the
// picture. Requests are independent, so they form a Poisson process over any stretch of
// constant rate.
type traffic struct {
	name, about string
	perSecond   func(ms int) uint64
}

var traffics = []traffic{
	{"Poisson", "15 a second, by chance", func(int) uint64 { return 15 }},
	{"Bursts", "7 s at 40 a second, 8 s of nothing", func(ms int) uint64 {
		if at := ms % 15_000; at >= 2_000 && at < 9_000 {
			return 40
		}
		return 0
	}},
	{"Edge of a window", "60 a second, 2 s either side of a slice's end", func(ms int) uint64 {
		if at := ms % 20_000; at >= 8_000 && at < 12_000 {
			return 60
		}
		return 0
	}},
}

// offer returns the requests of each millisecond. It makes ten draws each, so that two
// may come at once.
func (t traffic) offer() []int64 {
	const tosses = 10
	rng := rand.NewPCG(seed, seed)
	offered := make([]int64, lengthMs)
	for ms := range offered {
		rate := t.perSecond(ms)
		for range tosses {
			if rng.Uint64()%(1000*tosses) < rate {
				offered[ms]++
			}
		}
	}
	return offered
}

// admitted plays a load to a key and returns the units admitted in each millisecond.
func admitted(offered []int64, k limiterKey) []int64 {
	out := make([]int64, len(offered))
	for ms, n := range offered {
		for range n {
			out[ms] += k.admit(startMs+int64(ms),
				limiter.Quota{Limit: limit, WindowMs: windowMs})
		}
	}
	return out
}

// inWindow returns, for each millisecond, the sum of the window that ends with it. It
// uses no algorithm.
func inWindow(perMs []int64) []int64 {
	out := make([]int64, len(perMs))
	count := int64(0)
	for ms, n := range perMs {
		count += n
		if gone := ms - int(windowMs); gone >= 0 {
			count -= perMs[gone]
		}
		out[ms] = count
	}
	return out
}

// sums returns the sums of parts of so many values, and highs their maxima.

func sums(values []int64, width int) (out []int64) {
	for part := range slices.Chunk(values, width) {
		out = append(out, total(part))
	}
	return out
}

func highs(values []int64, width int) (out []int64) {
	for part := range slices.Chunk(values, width) {
		out = append(out, slices.Max(part))
	}
	return out
}

func total(values []int64) (sum int64) {
	for _, v := range values {
		sum += v
	}
	return sum
}
