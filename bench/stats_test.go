package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.True(t, math.IsNaN(median(nil)))
	require.InDelta(t, 3.0, median([]float64{3}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
	values := []float64{9, 1, 5}
	require.InDelta(t, 5.0, median(values), 0)
	require.Equal(t, []float64{9, 1, 5}, values, "not sorted in place: rounds are pairs")
}

func TestCompare(t *testing.T) {
	require.Equal(t, ratio{OfMedians: 3, Min: 2, Max: 8},
		compare([]float64{20, 30, 40}, []float64{10, 10, 5}))
	require.Panics(t, func() { compare([]float64{1, 2}, []float64{1}) })
}

func TestMissed(t *testing.T) {
	require.False(t, missed(0.1, 0), "no floor")
	require.False(t, missed(1.3, 1.3))
	require.True(t, missed(1.2999, 1.3))
	require.True(t, missed(math.NaN(), 1.3))
}

func TestHistogram(t *testing.T) {
	var h histogram
	require.Zero(t, h.quantile(0.5))
	for i := 1; i <= 1000; i++ {
		h.record(time.Duration(i) * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{0: 1000, 0.5: 500_000, 0.99: 990_000, 1: 1_000_000} {
		require.InEpsilon(t, want, h.quantile(q), 1.0/subBuckets, "quantile %v", q)
	}
	h.record(-1)
	h.record(math.MaxInt64)
	require.Equal(t, time.Duration(math.MaxInt64), h.quantile(1))
}

// TestHistogramBuckets checks the buckets: in order, without gaps, none wider than 1/32
// of its values.
func TestHistogramBuckets(t *testing.T) {
	next := time.Duration(0)
	for i := range bucket(math.MaxInt64) {
		low, high := next, upper(i)
		require.Equal(t, i, bucket(low))
		require.Equal(t, i, bucket(high))
		require.LessOrEqual(t, int64(high-low), int64(low)/subBuckets)
		next = high + 1
	}
}
