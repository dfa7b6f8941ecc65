package rls

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

// A gate holds decisions: each says that it has begun, and waits to be let go.
type gate struct{ begun, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{}, 1000)} }

func (g *gate) decide(request *doors.Request, response *doors.Response) error {
	g.begun <- struct{}{}
	<-g.open
	return allow(request, response)
}

// waitingPeer returns a peer whose decisions wait at a gate.
func waitingPeer(t *testing.T) (*peer, *gate, *logins) {
	g, l := newGate(), &logins{}
	p := newPeer(t, Options{Login: l.login(g.decide), Waits: func() bool { return true }})
	t.Cleanup(func() { close(g.open) })
	return p, g, l
}

// TestWaitingDecisions has decisions that wait while others are asked and answered.
func TestWaitingDecisions(t *testing.T) {
	p, g, l := waitingPeer(t)
	p.send(p.call(1, ask("a")), p.call(3, ask("a", "b")), p.call(5, ask("a")))
	for range 3 {
		<-g.begun
	}
	p.expectAlive()
	p.send(appendRSTStream(nil, 1, codeCancel), appendRSTStream(nil, 5, codeCancel))
	p.expectAlive()
	for range 3 {
		g.open <- struct{}{}
	}
	_, statuses := codes(t, p.reply(3))
	require.Len(t, statuses, 2)
	require.LessOrEqual(t, l.opened, 3)
	p.send(p.call(7, ask("a")))
	<-g.begun
	g.open <- struct{}{}
	p.reply(7)
	require.LessOrEqual(t, l.opened, 3, "clients are used again")
	p.conn.Close()
	require.NoError(t, p.expectEnd())
	require.Equal(t, l.opened, l.left)
}

// TestResetGainsNothing resets calls that wait for their decision: they count until they are decided.
func TestResetGainsNothing(t *testing.T) {
	p, g, l := waitingPeer(t)
	id := uint32(1)
	for range maxStreams {
		p.send(p.call(id, ask("a")), appendRSTStream(nil, id, codeCancel))
		id += 2
	}
	for range maxStreams {
		<-g.begun
	}
	for range 2 * maxFaults { // without a fault of the peer's
		p.send(p.call(id, ask("a")))
		p.expectReset(id, codeRefusedStream)
		id += 2
	}
	require.Equal(t, maxStreams, l.opened)
	for range maxStreams + 1 {
		g.open <- struct{}{}
	}
	for {
		p.send(p.call(id, ask("a")))
		if f := p.next(); f.kind == frameRSTStream {
			id += 2
			continue
		}
		break
	}
}

// TestShutdownWaits ends a connection while a decision waits.
func TestShutdownWaits(t *testing.T) {
	p, g, _ := waitingPeer(t)
	p.send(p.call(1, ask("a")))
	<-g.begun
	done := make(chan error)
	go func() { done <- p.server.Shutdown(context.Background()) }()
	p.nextOf(frameGoAway)
	ping := p.nextOf(framePing)
	p.send(makeFrame(framePing, flagAck, 0, ping.payload))
	p.nextOf(frameGoAway)
	g.open <- struct{}{}
	p.reply(1)
	require.NoError(t, <-done)
}

// TestPeerLeavesWaitingDecisions: decisions learn that the peer has left, so that its goroutines end.
func TestPeerLeavesWaitingDecisions(t *testing.T) {
	var l logins
	begun := make(chan struct{})
	wait := func(request *doors.Request, response *doors.Response) error {
		begun <- struct{}{}
		<-request.Gone
		return allow(request, response)
	}
	p := newPeer(t, Options{Login: l.login(wait), Waits: func() bool { return true }})
	p.send(p.call(1, ask("a")), p.call(3, ask("a")))
	<-begun
	<-begun
	p.conn.Close()
	require.NoError(t, p.expectEnd())
	require.Equal(t, 2, l.opened)
	require.Equal(t, 2, l.left)
}

// TestIdleClientsAreBounded leaves as many clients as are kept.
func TestIdleClientsAreBounded(t *testing.T) {
	var p sessions
	var l logins
	login := l.login(allow)
	add := func(authorization string) {
		client, err := login(doors.Credentials{})
		require.NoError(t, err)
		for _, s := range p.release(&session{client: client, authorization: authorization}) {
			s.client.Close()
		}
	}
	for range 2 * maxIdle {
		add("a")
	}
	require.Len(t, p.idle, maxIdle)
	for _, a := range []string{"b", "c", "d"} {
		add(a)
	}
	require.NotNil(t, p.acquire("a"))
	add("e")
	require.Nil(t, p.acquire("a"), "the fifth login")
	require.NotNil(t, p.acquire("b"))
	require.Len(t, p.idle, 3)
}

// TestReadingWaitsForWriting has another goroutine write while much output waits: frames are handled one by
// one.
func TestReadingWaitsForWriting(t *testing.T) {
	c := newConn(new(scriptConn), "", &Options{Now: newClock().Now})
	c.handshake.ready, c.handshake.first, c.out.writing = true, true, true
	c.out.buf = make([]byte, flushOutput)
	ping := makeFrame(framePing, 0, 0, make([]byte, 8))
	for range 3 {
		c.in.have += copy(c.in.buf[c.in.have:], ping)
	}
	begun, done := make(chan struct{}), make(chan *connError)
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(begun)
		done <- c.handle()
	}()
	<-begun
	c.mu.Lock() // when it waits
	require.Len(t, c.out.buf, flushOutput+len(ping))
	c.out.writing, c.out.buf = false, nil
	c.out.written.Broadcast()
	c.mu.Unlock()
	require.Nil(t, <-done)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Len(t, c.out.buf, 2*len(ping))
}

// TestWakeBeforeReading wakes the connection's goroutine while it does not read yet: its next read returns.
func TestWakeBeforeReading(t *testing.T) {
	clock := newClock()
	conn := newMemConn(clock)
	c := newConn(conn, "", &Options{Now: clock.Now, Idle: streamTimeout})
	c.now, c.handshake.ready = clock.Now(), true
	c.streams.idleSince = c.now
	c.wake()
	require.NoError(t, c.setReadDeadline())
	require.Equal(t, wakeTime, conn.readBy)
	require.NoError(t, c.setReadDeadline())
	require.Equal(t, c.now.Add(streamTimeout), conn.readBy)
}

// TestDecidingBodies has more bytes of requests that are decided than may be incomplete.
func TestDecidingBodies(t *testing.T) {
	p, g, _ := waitingPeer(t)
	body := lengthPrefixed(appendString(ask("a"), 100, make([]byte, 60_000)))
	for id := uint32(1); id < 2*(2+maxBodies/60_000); id += 2 {
		p.send(p.open(id))
		for i := 0; i < len(body); i += maxFrame {
			end := min(i+maxFrame, len(body))
			p.send(makeFrame(frameData, byte(end/len(body)), id, body[i:end]))
		}
		<-g.begun
	}
}
