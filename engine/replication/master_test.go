package replication

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplicasShareACopy(t *testing.T) {
	for name, said := range map[string][]Said{
		"marked":       {modern, modern, modern},
		"sized":        {ancient, ancient},
		"one is older": {modern, ancient, modern},
		"SYNC":         {modern, {SYNC: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *source) {
				s.settings.SyncDelayUs = 5 * second
				s.write("SET a 1")
				var peers []*peer
				for _, x := range said {
					peers = append(peers, s.attach(nowhere, x, 0))
					s.later(second)
					require.Equal(t, WaitBgsave, peers[0].Status().State)
				}
				s.later(5 * second)
				require.Equal(t, 1, s.copies)
				s.write("SET b 2")
				for i, p := range peers {
					head, keys, rest := body(t, p.got())
					if said[i].SYNC {
						require.Empty(t, head)
					} else {
						require.Equal(t, fullResync(Position{position(s.stream), 0}), head)
					}
					require.Equal(t, string(raw("SET a 1")), keys)
					stream := string(rawAll("SELECT 0", "SET b 2"))
					if name == "marked" {
						require.Empty(t, rest, "the stream follows the first acknowledgement")
						require.Equal(t, SendBulk, p.Status().State)
						p.ack(0)
						rest = p.got()
					}
					require.Equal(t, stream, rest)
					require.Equal(t, Online, p.Status().State)
				}
				full, partial, refused := s.Counts()
				require.EqualValues(t, len(said), full)
				require.Zero(t, partial)
				require.Zero(t, refused)
			})
		})
	}
}

// A replica may confirm the copy before the master has noticed that all of it was sent.
func TestEarlyAcknowledgement(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.gate = make(chan struct{})
		p := s.attach(nowhere, modern, 0)
		s.tick()
		p.got()
		p.ack(0)
		require.Equal(t, SendBulk, p.Status().State)
		s.write("SET a 1")
		require.NotContains(t, p.got(), "SET")
		s.openGate()
		require.True(t, strings.HasSuffix(p.got(), string(rawAll("SELECT 0", "SET a 1"))))
	})
}

func TestACopyThatRunsIsNotJoined(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.gate = make(chan struct{})
		early := s.attach(nowhere, ancient, 0)
		s.tick()
		s.write("SET a 1")
		late := s.attach(nowhere, ancient, 0)
		s.later(10 * keepAliveUs)
		require.Equal(t, 1, s.copies)
		require.Equal(t, WaitBgsave, late.Status().State)
		s.openGate()
		s.later(keepAliveUs)
		require.Equal(t, 2, s.copies)
		s.openGate()
		s.tick()
		_, keys, rest := body(t, early.got())
		require.Empty(t, keys)
		require.Equal(t, string(rawAll("SELECT 0", "SET a 1")), strings.TrimSuffix(rest, ping))
		_, keys, rest = body(t, late.got())
		require.Equal(t, string(raw("SET a 1")), keys)
		require.Empty(t, strings.ReplaceAll(rest, ping, ""))
	})
}

const ping = "*1\r\n$4\r\nPING\r\n"

// Until something of the copy is sent, the replica hears that it is being made. Nothing is put into it.
func TestKeepAlive(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.gate = make(chan struct{})
		s.settings.SyncDelayUs = 3 * second
		p := s.attach(nowhere, ancient, 0)
		s.later(2 * second)
		require.Equal(t, "\n\n", p.got())
		s.later(second)
		require.Contains(t, p.got(), "+FULLRESYNC")
		s.later(5 * second)
		require.Equal(t, "\n\n\n\n\n", p.got(), "a copy whose length is not known yet")
		s.openGate()
		s.later(5 * second)
		_, keys, _ := body(t, p.got())
		require.Empty(t, keys)
	})
	bubble(t, func(t *testing.T, s *source) {
		s.gate = make(chan struct{})
		p := s.attach(nowhere, modern, 0)
		s.tick()
		s.later(5 * second)
		s.openGate()
		_, keys, _ := body(t, p.got())
		require.Empty(t, keys)
		s.later(5 * second)
		require.Empty(t, p.got(), "nor after it")
	})
}

func TestRDBOnly(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		said := modern
		said.RDB = true
		p := s.attach(nowhere, said, 0)
		s.tick()
		s.write("SET a 1")
		_, _, rest := body(t, p.got())
		require.Empty(t, rest)
		require.True(t, p.ended)
		require.NoError(t, p.err)
		s.stream.SetSize(1)
		s.stream.Follow([]byte(pattern(10*blockSize)), 0)
		_, more := s.stream.Memory()
		require.Zero(t, more, "it keeps nothing of the stream")
		s.later(200 * second)
		require.False(t, p.killed)
	})
}

func TestMaxReplicasEndTheDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.settings.SyncDelayUs, s.settings.SyncReplicas = 100*second, 2
		s.attach(nowhere, modern, 0)
		s.later(second)
		require.Zero(t, s.copies)
		s.attach(nowhere, modern, 0)
		s.tick()
		require.Equal(t, 1, s.copies)
	})
}

func TestAReplicaLeavesDuringTheCopy(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.gate, s.padding = make(chan struct{}), 3*aheadBytes
		stays, leaves := s.attach(nowhere, modern, 1000), s.attach(nowhere, modern, 1000)
		s.tick()
		sent := stays.got()
		require.Less(t, len(sent), s.padding, "the slowest replica stops the copy")
		leaves.leave()
		require.ErrorIs(t, leaves.err, io.ErrClosedPipe)
		sent += stays.got()
		s.openGate()
		sent += stays.got()
		require.True(t, strings.HasSuffix(sent[:len(sent)-40], copyEnd))
	})
}

func TestACopyThatNobodyWantsStops(t *testing.T) {
	for name, online := range map[string]bool{"nobody is left": false, "others are online": true} {
		t.Run(name, func(t *testing.T) {
			for _, said := range []Said{modern, ancient} {
				bubble(t, func(t *testing.T, s *source) {
					if online {
						s.stream.Activate()
						s.attach(s.stream.Position(), modern, 0)
					}
					s.padding = 3 * aheadBytes
					p := s.attach(nowhere, said, 1000)
					s.tick()
					p.leave()
					s.later(second)
					require.False(t, s.copying)
					require.Equal(t, 1, s.copies)
					s.padding = 0
					p = s.attach(nowhere, modern, 0)
					s.tick()
					body(t, p.got())
				})
			}
		})
	}
	t.Run("before it begins to be written", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *source) {
			s.gate = make(chan struct{})
			p := s.attach(nowhere, ancient, 0)
			s.tick()
			p.leave()
			s.tick()
			require.False(t, s.copying)
		})
	})
}

func TestACopyThatFails(t *testing.T) {
	for name, soon := range map[string]bool{"halfway": false, "before it begins": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *source) {
				s.fail, s.failSoon = errors.New("out of luck"), soon
				p := s.attach(nowhere, modern, 0)
				s.tick()
				require.True(t, p.killed, "it may come back, rather than wait for ever")
				require.True(t, p.ended)
				require.NotContains(t, p.got(), copyEnd)
				p.leave()
				s.tick()
				require.False(t, s.copying)
				s.fail, s.failSoon = nil, false
				p = s.attach(nowhere, modern, 0)
				s.tick()
				body(t, p.got())
			})
		})
	}
}

func TestPartialResynchronization(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.stream.Activate()
		s.write("SET a 1")
		at := s.stream.Position()
		s.write("SET b 2")
		p := s.attach(at, modern, 0)
		require.Equal(t, "+CONTINUE "+at.ID+"\r\n"+string(raw("SET b 2")), p.got())
		old := s.attach(at, ancient, 0)
		require.Equal(t, "+CONTINUE\r\n"+string(raw("SET b 2")), old.got())
		require.Equal(t, Online, p.Status().State)
		require.Equal(t, at.Offset, p.Status().Offset)

		at.Offset += 1000
		ahead := s.attach(at, modern, 0)
		require.Equal(t, WaitBgsave, ahead.Status().State)
		s.attach(Position{idB, 3}, modern, 0)
		s.attach(nowhere, modern, 0)
		full, partial, refused := s.Counts()
		require.Equal(t, []int64{3, 2, 2}, []int64{full, partial, refused})
		require.Len(t, s.Replicas(), 5)
	})
}

func TestAcked(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.stream.Activate()
		p, q := s.attach(s.stream.Position(), modern, 0), s.attach(s.stream.Position(), modern, 0)
		copying := s.attach(nowhere, modern, 0)
		s.write("SET a 1")
		offset := s.stream.Position().Offset
		acked := func() (int, <-chan struct{}) { return s.Acked(offset) }
		requireAcked := func(want int) {
			t.Helper()
			n, _ := acked()
			require.Equal(t, want, n)
		}
		requireAcked(0)
		for i, do := range []func(){
			func() { p.ack(offset - 1); requireAcked(0) },
			func() { p.ack(offset); requireAcked(1) },
			func() { p.ack(offset - 1); requireAcked(1) },
			func() { copying.ack(offset); requireAcked(1) },
			func() { q.ack(offset + 5); requireAcked(2) },
			func() { p.leave(); requireAcked(1) },
		} {
			_, changed := acked()
			do()
			require.True(t, isClosed(changed), "change %d is announced", i)
		}
	})
}

func TestGood(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.stream.Activate()
		p := s.attach(s.stream.Position(), modern, 0)
		s.attach(nowhere, modern, 0)
		require.Equal(t, 1, s.Good(s.now.now(), 10*second))
		s.later(11 * second)
		require.Equal(t, 0, s.Good(s.now.now(), 10*second))
		p.ack(0)
		require.Equal(t, 1, s.Good(s.now.now(), 10*second))
	})
}

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

func TestCloseStopsACopy(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		s.gate = make(chan struct{})
		p := s.attach(nowhere, modern, 0)
		s.tick()
		s.Close()
		s.Close()
		require.True(t, p.killed)
		s.attach(nowhere, modern, 0)
		s.tick()
		require.Equal(t, 1, s.copies, "none is begun after")
	})
}

// Whoever waits for confirmations hears of one as soon as it counts: neither the replica's next one nor
// what it is sent has to come first.
func TestAcknowledgementsCountAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *source) {
		p := s.attach(nowhere, modern, 0)
		s.tick()
		p.got()
		p.ack(0)
		n, _ := s.Acked(0)
		require.Equal(t, 1, n)
	})
	bubble(t, func(t *testing.T, s *source) {
		s.gate = make(chan struct{})
		p := s.attach(nowhere, modern, 0)
		s.tick()
		p.got()
		p.ack(0)
		n, changed := s.Acked(0)
		require.Zero(t, n, "not all of the copy was sent")
		s.openGate()
		p.got()
		require.True(t, isClosed(changed))
		n, _ = s.Acked(0)
		require.Equal(t, 1, n)
	})
}
