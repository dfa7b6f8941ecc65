package rls

import (
	"context"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const instant = time.Millisecond

// TestDeadlines lets time pass until just before a deadline, when nothing may happen, and then beyond it.
func TestDeadlines(t *testing.T) {
	tests := []struct {
		name   string
		send   func(p *peer) []byte
		after  time.Duration
		expect func(p *peer)
	}{
		{"frame", func(*peer) []byte { return []byte{0, 0, 8} }, frameTimeout, func(p *peer) {
			p.expectGoAway(codeEnhanceYourCalm)
		}},
		{"header block", func(p *peer) []byte {
			return makeFrame(frameHeaders, 0, 1, p.encode(callFields...))
		}, frameTimeout, func(p *peer) { p.expectGoAway(codeEnhanceYourCalm) }},
		{"body", func(p *peer) []byte { return p.open(1) }, streamTimeout, func(p *peer) {
			p.expectReset(1, codeCancel)
			p.expectAlive()
		}},
		{"idle", func(*peer) []byte { return nil }, time.Hour, func(p *peer) {
			require.NoError(p.t, p.expectGoAway(codeNo))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, Options{Idle: time.Hour})
			p.send(tt.send(p))
			p.conn.waitIdle()
			p.clock.advance(tt.after - instant)
			p.conn.waitIdle()
			require.Zero(t, p.conn.size())
			p.clock.advance(instant)
			tt.expect(p)
		})
	}
}

// TestSlowFrame sends a frame byte by byte, which does not move its deadline, while a frame behind it has its
// own.
func TestSlowFrame(t *testing.T) {
	p := newPeer(t, Options{})
	ping := makeFrame(framePing, 0, 0, make([]byte, 8))
	p.send(ping[:5])
	p.conn.waitIdle()
	p.clock.advance(frameTimeout - instant)
	p.send(ping[5:], ping[:5])
	p.next()
	p.conn.waitIdle()
	p.clock.advance(frameTimeout - instant)
	p.send(ping[5:6])
	p.conn.waitIdle()
	require.Zero(t, p.conn.size())
	p.clock.advance(instant)
	p.expectGoAway(codeEnhanceYourCalm)
}

// TestBusyConnectionsExpire has calls and a stream whose body does not arrive.
func TestBusyConnectionsExpire(t *testing.T) {
	p := newPeer(t, Options{Idle: streamTimeout / 2})
	p.send(p.open(1))
	p.conn.waitIdle()
	id := uint32(3)
	for range 9 {
		p.clock.advance(streamTimeout / 10)
		p.send(p.call(id, ask("a")))
		p.reply(id)
		id += 2
	}
	p.conn.waitIdle()
	p.clock.advance(streamTimeout / 10)
	p.expectReset(1, codeCancel)
	p.conn.waitIdle()
	p.clock.advance(streamTimeout/2 - instant)
	p.expectAlive() // which does not make it less idle
	p.conn.waitIdle()
	p.clock.advance(instant)
	require.NoError(t, p.expectGoAway(codeNo))
}

func TestBlockedResponseExpires(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(settings(settingInitialWindow, 0), p.call(1, ask("a")))
	p.nextOf(frameHeaders)
	p.conn.waitIdle()
	p.clock.advance(streamTimeout)
	p.expectReset(1, codeCancel)
	p.expectAlive()
}

func TestPrefaceDeadline(t *testing.T) {
	p := rawPeer(t, Options{})
	p.send([]byte(preface[:5]))
	p.conn.waitIdle()
	p.clock.advance(prefaceTimeout)
	require.Error(t, p.expectEnd())
}

// TestPeerThatDoesNotRead floods the connection, and reads nothing: the server stops reading, and gives up.
func TestPeerThatDoesNotRead(t *testing.T) {
	p := newPeer(t, Options{})
	p.conn.mu.Lock()
	p.conn.room = 1
	p.conn.mu.Unlock()
	for id := uint32(1); id < 20_000; id += 2 {
		p.send(p.call(id, ask("a")))
	}
	p.conn.mu.Lock()
	for len(p.conn.out) == 0 || p.conn.reading { // until a write waits
		p.conn.changed.Wait()
	}
	p.conn.mu.Unlock()
	p.clock.advance(writeTimeout)
	require.ErrorIs(t, p.expectEnd(), os.ErrDeadlineExceeded)
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	require.NotEmpty(t, p.conn.in, "the rest was not read")
}

// TestShutdown ends a connection with an open stream, and with calls that cross the first GOAWAY.
func TestShutdown(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.open(1))
	p.conn.waitIdle()
	done := make(chan error)
	go func() { done <- p.server.Shutdown(context.Background()) }()
	goAway := func(last uint32) {
		f := p.next()
		require.Equal(t, byte(frameGoAway), f.kind)
		require.Equal(t, last, binary.BigEndian.Uint32(f.payload))
		require.Equal(t, codeNo, errorCode(binary.BigEndian.Uint32(f.payload[4:])))
	}
	goAway(maxStreamID)
	ping := p.next()
	require.Equal(t, byte(framePing), ping.kind)
	p.send(p.call(3, ask("a")))
	p.reply(3)
	p.send(makeFrame(framePing, flagAck, 0, ping.payload))
	goAway(3)
	p.send(p.call(5, ask("a"), "new", "field"), appendWindowUpdate(nil, 5, 1),
		appendRSTStream(nil, 5, codeCancel))
	p.send(makeFrame(frameData, flagEndStream, 1, lengthPrefixed(ask("a"))))
	p.reply(1)
	require.NoError(t, p.expectEnd())
	require.NoError(t, <-done)
	require.Zero(t, p.conn.size())

	other := newMemConn(newClock())
	require.ErrorIs(t, p.server.Serve(other, ""), ErrShutdown)
	require.True(t, other.closed)
}

// TestShutdownWithoutAnswer has a peer that does not answer the PING.
func TestShutdownWithoutAnswer(t *testing.T) {
	p := newPeer(t, Options{})
	done := make(chan error)
	go func() { done <- p.server.Shutdown(context.Background()) }()
	p.nextOf(frameGoAway)
	p.nextOf(framePing)
	p.conn.waitIdle()
	p.clock.advance(drainTimeout)
	p.nextOf(frameGoAway)
	require.NoError(t, <-done)
}

func TestShutdownOfBeginning(t *testing.T) {
	p := rawPeer(t, Options{})
	p.conn.waitIdle()
	require.NoError(t, p.server.Shutdown(context.Background()))
}

// TestShutdownGivesUp ends the wait for an open stream.
func TestShutdownGivesUp(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.open(1))
	p.conn.waitIdle()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- p.server.Shutdown(ctx) }()
	p.nextOf(frameGoAway)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	p.expectEnd()
}

// TestPeerLeaves ends connections from the other side.
func TestPeerLeaves(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.open(1), makeFrame(frameGoAway, 0, 0, make([]byte, 8)))
	p.send(makeFrame(frameData, flagEndStream, 1, lengthPrefixed(ask("a"))))
	p.reply(1)
	require.NoError(t, p.expectEnd())

	p = newPeer(t, Options{})
	p.send(p.call(1, ask("a")))
	p.conn.mu.Lock()
	p.conn.eof = true
	p.conn.mu.Unlock()
	p.reply(1)
	p.conn.feed(nil)
	require.NoError(t, p.expectEnd())
}
