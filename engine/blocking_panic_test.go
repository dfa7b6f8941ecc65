package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPanicWhileAWaitEnds: a panic after the wait was claimed ends the connection, since nobody else ends the
// wait.
func TestPanicWhileAWaitEnds(t *testing.T) {
	killed := 0
	s := newLogged(t, func(string) {}).NewSession(Peer{Kill: func() { killed++ }})
	defer s.Close()
	send(s, "BLPOP", "k", "0")
	b := s.Blocked()
	fail := func() {
		defer b.endOnPanic()
		panic("planted")
	}
	require.True(t, b.waiter.Claim())
	fail()
	require.Equal(t, 1, killed)

	b.end(errPanicked)
	fail()
	require.Equal(t, 1, killed, "the wait is over")
}
