package zlimittest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeaksAreDetected plants a goroutine that does not exit.
func TestLeaksAreDetected(t *testing.T) {
	s, err := Start(Options{})
	require.NoError(t, err)
	end, begun := make(chan struct{}), make(chan struct{})
	s.labelled(func() {
		go func() { // a child, as connections are
			close(begun)
			<-end
		}()
	})
	<-begun
	require.ErrorContains(t, s.Close(), "goroutines of the server are still there")
	close(end)
	require.NoError(t, s.leftovers())
}
