package server

import (
	"net"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/server/poll"
)

// tally is how often the system is called.
type tally struct{ polls, wakes, reads, writes, fileWrites, syncs int }

// tallied is the system's poller.
type tallied struct {
	*poll.Epoll
	calls *tally
}

func (p tallied) Wait() []poll.Event { p.calls.polls++; return p.Epoll.Wait() }
func (p tallied) Poll() []poll.Event { p.calls.polls++; return p.Epoll.Poll() }
func (p tallied) Pass() []poll.Event { p.calls.polls++; return p.Epoll.Pass() }
func (p tallied) Wake()              { p.calls.wakes++; p.Epoll.Wake() }

// talliedSocket is a socket of a loop whose poller is tallied.
type talliedSocket struct {
	*socket
	poller tallied
}

func (s talliedSocket) readSome(b []byte) (int, bool, error) {
	s.poller.calls.reads++
	return s.socket.readSome(b)
}

func (s talliedSocket) writeSome(b []byte) (int, error) {
	s.poller.calls.writes++
	return s.socket.writeSome(b)
}

func (s talliedSocket) attach(_ *loop, token int32) error { return s.poller.Add(s.fd, token) }

// TestSystemCallsOfRound counts the system calls of a round in which 50 clients have sent something. The
// test's goroutine holds the loop.
func TestSystemCallsOfRound(t *testing.T) {
	t.Parallel()
	if feedsAll {
		t.Skip("with -fed a connection has no descriptor of its own, whose system calls could be counted")
	}
	const clients = 50
	disk := crashdisk.New(1)
	s := New(Options{
		Config: newConfig(t, "--appendonly", "yes", "--appendfsync", "no"), Disk: disk.FS(),
	})
	require.NoError(t, s.engine.Open())
	require.NoError(t, s.engine.Load(func() {}))
	defer s.Close()
	epoll, err := poll.NewEpoll()
	require.NoError(t, err)
	var calls tally
	poller := tallied{epoll, &calls}
	l := newLoop(s, poller)
	s.loops.sockets = []*loop{l}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) // whose bytes arrive within a write
	require.NoError(t, err)
	defer listener.Close()
	var ends []net.Conn
	for range clients {
		end, err := net.Dial("unix", listener.Addr().String())
		require.NoError(t, err)
		defer end.Close()
		accepted, err := listener.Accept()
		require.NoError(t, err)
		c, err := newConn(s, accepted)
		require.NoError(t, err)
		c.transport = talliedSocket{c.carrier.(*socket), poller}
		c.out.transport = c.transport
		c.begin(accepted.RemoteAddr(), accepted.LocalAddr())
		c.add()
		ends = append(ends, end)
	}
	round := func(request string) (took tally) {
		for _, end := range ends {
			_, err := end.Write([]byte(request))
			require.NoError(t, err)
		}
		calls = tally{}
		require.True(t, l.begin())
		require.True(t, l.serveRound())
		require.True(t, l.answer())
		took = calls
		require.Empty(t, l.more, "nothing is left to look at")
		answer := make([]byte, 4<<10)
		for _, end := range ends {
			n, err := end.Read(answer)
			require.NoError(t, err)
			require.NotContains(t, string(answer[:n]), "-ERR")
		}
		return took
	}
	round("PING\r\n") // takes them in
	for _, request := range []string{
		"PING\r\n", strings.Repeat("INCR n\r\n", 16), "RL.ALLOW k 1000 1m\r\n", "MULTI\r\nINCR n\r\nEXEC\r\n",
	} {
		require.Equal(t, tally{polls: 1, reads: clients, writes: clients}, round(request), request)
	}

	round("CONFIG SET appendfsync always\r\n")
	round("INCR n\r\n") // and all before it
	var ofWriter atomic.Int64
	disk.Hook(func(op crashdisk.Op) crashdisk.Fault {
		switch {
		case !strings.Contains(string(debug.Stack()), "answerDurable"):
			ofWriter.Add(1)
		case op.Kind == crashdisk.Write:
			calls.fileWrites++
		case op.Kind == crashdisk.Sync:
			calls.syncs++
		}
		return crashdisk.Fault{}
	})
	for _, request := range []string{"INCR n\r\n", "RL.ALLOW k 1000 1m\r\n"} {
		before := ofWriter.Load()
		took := round(request)
		if ofWriter.Load() != before {
			took = round(request)
		}
		expected := tally{polls: 1, reads: clients, writes: clients, fileWrites: 1, syncs: 1}
		require.Equal(t, expected, took, request)
	}
	disk.Hook(nil)
	require.LessOrEqual(t, ofWriter.Load(), int64(2), "a write and a sync, if it was still awake from before")
}
