package main

import (
	"math/rand/v2"
	"slices"

	"github.com/zlimit/zlimit/limiter"
)

// The picture of docs/traffic.svg: what each algorithm admits of three loads.
// It measures nothing: the decisions are package limiter's, the time is a
// number that counts up, the chance is seeded, and all arithmetic is in
// integers, so that every machine draws the same bytes. picture_keys.go has
// the keys that decide, picture_svg.go the drawing.

const (
	pictureLimit    int64 = 100
	pictureWindowMs int64 = 10_000
	pictureMs             = 40_000
	pictureSeed           = 5
	// pictureStartMs is on the border of a slice of FIXED, as the edge load
	// wants it.
	pictureStartMs int64 = 1_700_000_000_000
)

// A traffic is a load: how many requests a second are to be expected at a
// millisecond of the picture. They come independently of each other, so over
// any stretch with one rate they are a Poisson process.
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

// offer returns the requests of each millisecond: ten tosses each, so that two
// may come at once.
func (t traffic) offer() []int64 {
	const tosses = 10
	rng := rand.NewPCG(pictureSeed, pictureSeed)
	offered := make([]int64, pictureMs)
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

// admitted plays a load to a key and returns what that admits of each
// millisecond.
func admitted(offered []int64, k pictureKey) []int64 {
	out := make([]int64, len(offered))
	for ms, n := range offered {
		for range n {
			out[ms] += k.admit(pictureStartMs+int64(ms), limiter.Quota{Limit: pictureLimit, WindowMs: pictureWindowMs})
		}
	}
	return out
}

// inWindow returns, for each millisecond, how many came in the window that ends
// with it. It counts what came and asks no algorithm.
func inWindow(perMs []int64) []int64 {
	out := make([]int64, len(perMs))
	count := int64(0)
	for ms, n := range perMs {
		count += n
		if gone := ms - int(pictureWindowMs); gone >= 0 {
			count -= perMs[gone]
		}
		out[ms] = count
	}
	return out
}

// sums adds up parts of so many values, and highs takes the highest of each.

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
