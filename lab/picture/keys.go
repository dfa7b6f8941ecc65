package main

import (
	"slices"

	"github.com/zlimit/zlimit/limiter"
)

// A limiterKey is a key under one algorithm. It decides on a request, applies the
// change, and returns the units admitted.
type limiterKey interface {
	admit(nowMs int64, q limiter.Quota) int64
}

// The algorithms in the picture's order. GCRA's burst is the limit, so that at rest all
// admit as much at once.
var algorithms = []struct {
	name, about string
	fresh       func() limiterKey
}{
	{"LOG", "exact sliding window", func() limiterKey { return new(logKey) }},
	{
		"BUCKETS 10", "window in ten parts",
		func() limiterKey { return &bucketsKey{Buckets: limiter.Buckets{N: 10}} },
	},
	{"FIXED", "slices of 10 s", func() limiterKey { return new(fixedKey) }},
	{"GCRA 100", "100 at once, 10/s", func() limiterKey { return new(gcraKey) }},
}

var one = limiter.Call{Cost: 1}

// logKey is a log of entries of one unit, as a slice of scores.
type logKey struct {
	scores     []int64
	expireAtMs int64
}

func (k *logKey) admit(nowMs int64, q limiter.Quota) int64 {
	d, err := limiter.Decide(k, nowMs, k.expireAtMs, []limiter.Quota{q}, one.Cost)
	if err != nil {
		panic(err) // an instant that a log cannot hold: the picture's are constants
	}
	if d.Units > 0 {
		k.scores = k.scores[k.Units()-k.UnitsAfter(d.DropThrough):]
		k.scores = append(k.scores, d.Score)
		k.expireAtMs = d.ExpireAtMs
	}
	return d.Units
}

func (k *logKey) Len() int                { return len(k.scores) }
func (k *logKey) Units() int64            { return int64(len(k.scores)) }
func (k *logKey) UnitAt(rank int64) int64 { return k.scores[rank] }
func (k *logKey) Oldest() int64           { return k.scores[0] }
func (k *logKey) Newest() int64           { return k.scores[len(k.scores)-1] }
func (k *logKey) UnitsAfter(score int64) int64 {
	rank, _ := slices.BinarySearch(k.scores, score+1)
	return int64(len(k.scores) - rank)
}

type bucketsKey struct {
	limiter.Buckets
	expireAtMs int64
}

func (k *bucketsKey) admit(nowMs int64, q limiter.Quota) int64 {
	if nowMs > k.expireAtMs { // or the key does not exist yet
		k.Counts = make([]int64, 0, k.N+1)
		k.WidthMs = limiter.BucketWidth(q.WindowMs, k.N)
	}
	d := k.Decide(nowMs, k.expireAtMs, q, one)
	if d.Units > 0 {
		k.Apply(nowMs, &d)
		k.expireAtMs = d.ExpireAtMs
	}
	return d.Units
}

type fixedKey struct {
	limiter.Fixed
	expireAtMs int64
}

func (k *fixedKey) admit(nowMs int64, q limiter.Quota) int64 {
	d := k.Decide(nowMs, k.expireAtMs, q, one)
	if d.Units > 0 {
		k.Apply(nowMs, &d)
		k.expireAtMs = d.ExpireAtMs
	}
	return d.Units
}

type gcraKey struct {
	limiter.GCRA
	expireAtMs int64
}

func (k *gcraKey) admit(nowMs int64, q limiter.Quota) int64 {
	k.Burst = q.Limit
	d := k.Decide(nowMs, k.expireAtMs, q, one)
	if d.Units > 0 {
		k.Apply(nowMs, &d)
		k.expireAtMs = d.ExpireAtMs
	}
	return d.Units
}
