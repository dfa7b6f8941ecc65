package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server/poll"
)

// told is a poller that reports what a test says.
type told struct {
	poll.Poller
	events []poll.Event
}

func (p *told) Wait() []poll.Event { return p.events }
func (p *told) Poll() []poll.Event { return p.events }
func (p *told) Pass() []poll.Event { return p.events }

// seated returns an open connection of a loop.
func seated(t *testing.T, l *loop) *conn {
	c := &conn{server: l.server, loop: l, phase: open, session: l.server.engine.NewSession(engine.Peer{})}
	t.Cleanup(c.session.Close)
	l.seated.take(c)
	return c
}

// TestOrderOfRound: connections have their turns in the order in which something arrived for them, also those
// that were away meanwhile.
func TestOrderOfRound(t *testing.T) {
	t.Parallel()
	s := New(Options{Config: newConfig(t)})
	defer s.Close()
	poller := &told{}
	l := newLoop(s, poller)
	first, second, away, woken := seated(t, l), seated(t, l), seated(t, l), seated(t, l)
	readable := func(conns ...*conn) (events []poll.Event) {
		for _, c := range conns {
			events = append(events, poll.Event{Token: c.seat.token, Readable: true})
		}
		return events
	}
	for _, tc := range []struct {
		name         string
		before, then []*conn // for whom something arrives while one is away, and when it is back
		round        []*conn
	}{
		{"before others", []*conn{away}, []*conn{first, second}, []*conn{away, first, second, woken}},
		{"between others", nil, []*conn{first, away, second}, []*conn{first, away, second, woken}},
		{"nothing", nil, []*conn{first, second}, []*conn{first, second, woken, away}},
	} {
		away.seat.away = true
		for _, c := range []*conn{first, second, away, woken} {
			c.seat.unread, c.seat.queued = false, false
		}
		poller.events = readable(tc.before...)
		require.True(t, l.begin())
		l.round = l.round[:0]
		l.post(woken)
		away.signals.back.Store(true)
		l.post(away)
		poller.events = readable(tc.then...)
		require.True(t, l.begin())
		require.Len(t, l.round, len(tc.round), tc.name)
		for i, c := range tc.round {
			require.Same(t, c, l.round[i], "%s: %d", tc.name, i)
		}
	}
}

// onSend is a transport that calls a function when something is sent.
type onSend struct {
	transport
	sent func()
}

func (x onSend) writeSome(b []byte) (int, error) {
	x.sent()
	return len(b), nil
}

func (x onSend) unsent() int { return 0 }

// TestSettlesBeforeReplies: who has a reply can rely on it that nobody waits any more for what was answered:
// else the end of that wait is taken for the end of what the client sends next.
func TestSettlesBeforeReplies(t *testing.T) {
	t.Parallel()
	s := New(Options{Config: newConfig(t)})
	defer s.Close()
	l := newLoop(s, poll.NewMemory())
	c := seated(t, l)
	sent := false
	c.out.owner = c
	c.out.transport = onSend{sent: func() {
		sent = true
		require.Zero(t, c.order.current.Load())
		require.Equal(t, int64(1), c.order.settled.Load())
	}}
	c.seat.away = true // the loop went on without it
	c.order.runs(1)
	c.out.append([]byte("+OK\r\n"))
	c.comeBack()
	require.True(t, sent)
	l.settle(c)
	require.Equal(t, int64(1), c.order.settled.Load())
}
