package replication

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverdue(t *testing.T) {
	online := func(s *source) *peer {
		s.stream.Activate()
		return s.attach(s.stream.Position(), modern, 1000)
	}
	answering := func(s *source, p *peer, us int64) {
		for range us / second {
			p.ack(0)
			s.later(second)
		}
	}
	big := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		name string
		do   func(s *source) *peer
		dies bool
	}{
		{"silent within repl-timeout", func(s *source) *peer {
			p := online(s)
			s.later(59 * second)
			return p
		}, false},
		{"silent for repl-timeout", func(s *source) *peer {
			p := online(s)
			s.later(61 * second)
			return p
		}, true},
		{"it answers", func(s *source) *peer {
			p := online(s)
			answering(s, p, 200*second)
			return p
		}, false},
		{"SYNC has no answers", func(s *source) *peer {
			p := s.attach(nowhere, Said{SYNC: true}, 0)
			s.later(200 * second)
			return p
		}, false},
		{"hard limit", func(s *source) *peer {
			s.settings.HardBytes = 150_000
			p := online(s)
			s.stream.Follow([]byte(big), 0)
			s.tick()
			s.stream.Follow([]byte(big), 0)
			s.tick()
			return p
		}, true},
		{"soft limit for a moment", func(s *source) *peer {
			s.settings.SoftBytes, s.settings.SoftUs = 50_000, 20*second
			p := online(s)
			s.stream.Follow([]byte(big), 0)
			answering(s, p, 15*second)
			p.got()
			s.tick()
			s.stream.Follow([]byte(big), 0)
			answering(s, p, 15*second)
			return p
		}, false},
		{"soft limit for long", func(s *source) *peer {
			s.settings.SoftBytes, s.settings.SoftUs = 50_000, 20*second
			p := online(s)
			s.stream.Follow([]byte(big), 0)
			answering(s, p, 21*second)
			return p
		}, true},
		{"hard limit during the copy", func(s *source) *peer {
			s.settings.HardBytes, s.padding = 150_000, 3*aheadBytes
			p := s.attach(nowhere, modern, 1000)
			s.tick()
			s.stream.Follow([]byte(big), 0)
			s.tick()
			return p
		}, true},
		{"stalled copy", func(s *source) *peer {
			s.padding = 3 * aheadBytes
			p := s.attach(nowhere, modern, 1000)
			s.later(61 * second)
			return p
		}, true},
		{"slow copy", func(s *source) *peer {
			s.padding = 3 * aheadBytes
			p := s.attach(nowhere, modern, 1000)
			b := make([]byte, 10_000)
			for range 200 {
				s.later(second)
				for n := 0; n < len(b); {
					m, _ := p.conn.Read(b[n:])
					n += m
				}
			}
			return p
		}, false},
		{"slow snapshot", func(s *source) *peer {
			s.gate = make(chan struct{})
			p := s.attach(nowhere, modern, 0)
			s.later(200 * second)
			return p
		}, false},
		{"it waits for another's copy", func(s *source) *peer {
			s.gate = make(chan struct{})
			s.attach(nowhere, modern, 0)
			s.tick()
			p := s.attach(nowhere, modern, 0)
			s.later(200 * second)
			s.openGate()
			s.later(second)
			s.openGate()
			s.later(59 * second)
			return p
		}, false},
		{"the copy is not confirmed", func(s *source) *peer {
			p := s.attach(nowhere, modern, 0)
			s.later(61 * second)
			return p
		}, true},
		{"it says that it loads", func(s *source) *peer {
			p := s.attach(nowhere, modern, 0)
			for range 200 {
				s.later(second)
				p.Heard(s.now.now())
			}
			return p
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *source) {
				p := c.do(s)
				require.Equal(t, c.dies, p.killed)
				p.got()
				require.Equal(t, c.dies, p.ended)
				if c.dies {
					_, more := s.stream.Memory()
					require.Zero(t, more, "nothing is kept for it")
				}
			})
		})
	}
}

func TestPing(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.stream.Activate()
		p := s.attach(s.stream.Position(), modern, 0)
		p.got()
		s.tick()
		require.Equal(t, ping, p.got())
		s.later(10 * second)
		require.Equal(t, ping, p.got())
		require.EqualValues(t, 2*len(ping), s.stream.Position().Offset)
		s.stream.SetFollowing(true)
		for range 100 {
			s.now.advance(second)
			s.Tick(s.now.now(), s.settings)
			p.Heard(s.now.now())
		}
		require.Empty(t, p.got(), "a replica passes on its master's")
	})
}

func TestBacklogTTL(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(s *source)
		gone bool
	}{
		{"within", func(s *source) { s.later(99 * second) }, false},
		{"over", func(s *source) { s.later(101 * second) }, true},
		{"for ever", func(s *source) {
			s.settings.BacklogTTLUs = 0
			s.later(200 * second)
		}, false},
		{"a replica came in between", func(s *source) {
			s.later(90 * second)
			p := s.attach(s.stream.Position(), modern, 0)
			p.leave()
			s.later(90 * second)
		}, false},
		{"it was a replica in between", func(s *source) {
			s.later(second)
			s.stream.following = true
			for range 200 {
				s.now.advance(second)
				s.Tick(s.now.now(), s.settings)
			}
			s.stream.following = false
			s.later(90 * second)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *source) {
				s.settings.BacklogTTLUs = 100 * second
				s.stream.Activate()
				id := position(s.stream)
				c.do(s)
				require.Equal(t, c.gone, !s.stream.Active())
				require.Equal(t, c.gone, id != position(s.stream))
			})
		})
	}
}
