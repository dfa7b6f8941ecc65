package main

import (
	"math"
	"slices"
)

// median returns the middle value, the mean of the two middle ones for an even number,
// and NaN for none. It does not change values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// A ratio compares two series of the same length, measured in turns.
type ratio struct {
	// OfMedians is the figure to quote: the median of ours divided by that of theirs.
	OfMedians float64 `json:"of_medians"`
	// Min and Max are over the pairs of rounds. They show how far to trust OfMedians.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// compare returns ours / theirs. It panics if the lengths differ, because the pairs
// would be of different rounds.
func compare(ours, theirs []float64) ratio {
	if len(ours) != len(theirs) {
		panic("bench: compare: rounds without a partner")
	}
	r := ratio{OfMedians: median(ours) / median(theirs), Min: math.Inf(1), Max: math.Inf(-1)}
	for i := range ours {
		pair := ours[i] / theirs[i]
		r.Min, r.Max = min(r.Min, pair), max(r.Max, pair)
	}
	return r
}

// missed reports whether a ratio is below the floor. 0 is no floor; NaN misses every
// floor.
func missed(figure, floor float64) bool {
	return floor > 0 && !(figure >= floor)
}
