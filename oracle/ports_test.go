package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFreePortsAreHandedOutOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 30 {
		ports, err := FreePorts(20)
		require.NoError(t, err)
		for _, port := range ports {
			require.False(t, seen[port], "%d a second time", port)
			seen[port] = true
		}
	}
	require.Len(t, seen, 600)
	_, err := FreePorts(12_001)
	require.ErrorContains(t, err, "no 12001 ports")
	handedOut.Clear()
}
