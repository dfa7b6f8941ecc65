package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuickMeasuresAMissAgain checks that only --quick repeats a measurement, only if a
// floor was missed, and that the last one counts.
func TestQuickMeasuresAMissAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		quick  bool
		ratios []float64 // of successive attempts, with a floor of 1
		asked  int
		missed bool
	}{
		{"reached", true, []float64{1}, 1, false},
		{"reached the second time", true, []float64{0.9, 1.1}, 2, false},
		{"missed every time", true, []float64{0.9, 0.8, 0.9}, quickAttempts, true},
		{"the whole list", false, []float64{0.9, 1.1}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			r := row{name: "planted", measure: func(context.Context, *bench, row, say) ([]result, error) {
				asked++
				return []result{weigh("planted", "", "share", 1, series{"", c.ratios[asked-1 : asked]},
					bound(1, 1))}, nil
			}}
			b := &bench{quick: c.quick}
			results, err := b.measure(t.Context(), r, func(string, ...any) {})
			require.NoError(t, err)
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.missed, results[0].Missed)
		})
	}
}
