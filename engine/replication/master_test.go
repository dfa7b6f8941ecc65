package replication

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

const ping = "*1\r\n$4\r\nPING\r\n"

// TestGoodCountsWholeSeconds: a replica that confirms once a second, and may be late by the time between two
// ticks, is good with a lag of 1, as with redis-server.
func TestGoodCountsWholeSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.stream.Activate()
		p := s.attach(s.stream.Position(), modern, 0)
		s.later(second - s.now.now()%second)
		p.ack(0)
		at := s.now.now()
		require.Equal(t, 1, s.Good(at+second+second/10, second))
		require.Equal(t, 1, s.Good(at+2*second-1, second))
		require.Equal(t, 0, s.Good(at+2*second, second))
	})
}

// Kill may take locks of the master, as it does if it ends the session at once.
func TestKillMayRemove(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		var r *Replica
		killed := 0
		kill := func() {
			killed++
			s.Remove(r)
		}
		r = s.PSYNC("peer", nowhere, modern, s.now.now(), 0, kill)
		s.fail = errors.New("out of luck")
		s.tick()
		require.Equal(t, 1, killed)
		s.stream.Activate()
		r = s.PSYNC("peer", s.stream.Position(), modern, s.now.now(), 0, kill)
		s.later(61 * second)
		require.Equal(t, 2, killed)
		r = s.PSYNC("peer", s.stream.Position(), modern, s.now.now(), 0, kill)
		s.KillAll()
		require.Equal(t, 3, killed)
		require.Empty(t, s.Replicas())
	})
}
