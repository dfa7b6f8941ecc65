package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoutesAreCompared checks which of two costs the ratio of a row is of.
func TestRoutesAreCompared(t *testing.T) {
	first, half := []cost{{gateway: 30, nodes: 20}}, []cost{{gateway: 20, nodes: 5}}
	saves := route{name: "hot", floor: 1.9}.compared(row{name: "gateway"}, first, half)
	require.Equal(t, "gateway-hot", saves.Name)
	require.InDelta(t, 2, saves.Ratio.OfMedians, 0.001)
	require.False(t, saves.Missed)
	require.True(t, route{name: "hot", floor: 1.9}.compared(row{}, first, first).Missed)
	require.InDelta(t, 0.5, route{name: "script"}.compared(row{}, first, half).Ratio.OfMedians, 0.001)
}
