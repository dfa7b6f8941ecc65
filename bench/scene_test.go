package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScenesAreCompared checks which scenes the results of a stage are of, and that each can miss its floor.
func TestScenesAreCompared(t *testing.T) {
	st := stage{
		scenes: []scene{{name: "ours"}, {name: "quiet"}, {name: "redis", server: 1}},
		versus: []versus{{than: 1}, {suffix: "-redis", than: 2}, {suffix: "-bound", bound: 5, floor: 1}},
		timed:  true, tookFloor: 0.5,
	}
	waits, took := [][]float64{{4, 6, 8}, {3, 3, 3}, {12, 12, 12}}, [][]float64{{2, 2, 2}, nil, {1, 1, 1}}
	ratios := func(floor float64) (ratios []float64, missed []string) {
		r := row{name: "sync", floor: floor}
		for _, res := range st.results(&bench{rounds: 3}, r, waits, took, nil) {
			ratios = append(ratios, res.Ratio.OfMedians)
			if res.Missed {
				missed = append(missed, res.Name)
			}
		}
		return ratios, missed
	}
	all, missed := ratios(0.5)
	require.InDeltaSlice(t, []float64{0.5, 2, 5.0 / 6, 0.5}, all, 1e-9)
	require.Equal(t, []string{"sync-bound"}, missed)
	st.tookFloor = 0.6
	_, missed = ratios(0.51)
	require.Equal(t, []string{"sync", "sync-bound", "sync-took"}, missed)
}
