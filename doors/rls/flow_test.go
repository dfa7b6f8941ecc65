package rls

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

// large answers with one limit whose name has a number of bytes, which the domain says.
func large(size int) func(*doors.Request, *doors.Response) error {
	name := strings.Repeat("n", size)
	return func(_ *doors.Request, response *doors.Response) error {
		*response = doors.Response{
			Code: doors.OK, Binding: -1,
			Statuses: []doors.Status{{Code: doors.OK, HasLimit: true, Limit: doors.Limit{Name: name}}},
		}
		return nil
	}
}

// TestResponseWaitsForWindows opens the windows by and by.
func TestResponseWaitsForWindows(t *testing.T) {
	var l logins
	p := newPeer(t, Options{Login: l.login(large(100))})
	p.send(settings(settingInitialWindow, 10))
	p.nextOf(frameSettings)
	p.send(p.call(1, ask("a")), p.call(3, ask("a")))
	p.nextOf(frameHeaders)
	f := p.next()
	require.Len(t, f.payload, 10)
	p.nextOf(frameHeaders)
	f = p.next()
	require.Equal(t, uint32(3), f.stream)
	require.Len(t, f.payload, 10)
	p.send(appendWindowUpdate(nil, 3, 20))
	f = p.next()
	require.Equal(t, uint32(3), f.stream)
	require.Len(t, f.payload, 20)
	p.send(settings(settingInitialWindow, 0)) // stream 3's window is negative, now
	p.nextOf(frameSettings)
	p.send(appendWindowUpdate(nil, 3, 10), appendWindowUpdate(nil, 1, 1000))
	var body []byte
	for f = p.next(); f.kind == frameData; f = p.next() {
		require.Equal(t, uint32(1), f.stream)
		body = append(body, f.payload...)
	}
	require.Equal(t, byte(frameHeaders), f.kind)
	require.Equal(t, flagEndHeaders|flagEndStream, int(f.flags))
	require.True(t, bytes.HasSuffix(body, []byte("nnn")))
	p.send(settings(settingInitialWindow, 1000))
	p.nextOf(frameSettings)
	require.Equal(t, byte(frameData), p.next().kind)
	p.nextOf(frameHeaders)
}

// TestConnectionWindow uses up the connection's window, and opens it.
func TestConnectionWindow(t *testing.T) {
	var l logins
	p := newPeer(t, Options{Login: l.login(large(50_000))})
	p.send(p.call(1, ask("a")), p.call(3, ask("a")))
	require.Len(t, p.reply(1), 50_000+16)
	p.nextOf(frameHeaders)
	got := 0
	for got < defaultWindow-50_000-16-prefixSize {
		f := p.next()
		require.Equal(t, byte(frameData), f.kind)
		got += len(f.payload)
	}
	p.expectAlive()
	p.send(appendWindowUpdate(nil, 0, 1<<20))
	for got < 50_000+16+prefixSize {
		f := p.next()
		require.Equal(t, byte(frameData), f.kind)
		got += len(f.payload)
	}
	p.nextOf(frameHeaders)
	require.Equal(t, "0", p.fields["grpc-status"])
}

// TestPendingIsBounded asks for responses that no window admits.
func TestPendingIsBounded(t *testing.T) {
	var l logins
	const size = 50_000
	p := newPeer(t, Options{Login: l.login(large(size))})
	p.send(settings(settingInitialWindow, 0))
	p.nextOf(frameSettings)
	id := uint32(1)
	for range maxPending / (size + 16 + prefixSize) {
		p.send(p.call(id, ask("a")))
		p.nextOf(frameHeaders)
		id += 2
	}
	p.send(p.call(id, ask("a")))
	p.nextOf(frameHeaders)
	p.expectReset(id, codeEnhanceYourCalm)
	p.send(appendRSTStream(nil, 1, codeCancel), p.call(id+2, ask("a")))
	require.Equal(t, id+2, p.nextOf(frameHeaders).stream)
	p.expectAlive()
	// The windows open byte by byte.
	for range maxControl {
		p.send(appendWindowUpdate(nil, 3, 1))
	}
	p.expectGoAway(codeEnhanceYourCalm)
}

// TestWindowIsReturned sends much more than the connection's window, and counts what is returned.
func TestWindowIsReturned(t *testing.T) {
	p := newPeer(t, Options{})
	message := appendString(ask("a"), 100, make([]byte, 60_000))
	body := lengthPrefixed(message)
	window := int64(connWindow)
	for id := uint32(1); id < 2*50; id += 2 {
		p.send(p.open(id))
		for rest := body; len(rest) > 0; {
			n := min(len(rest), maxFrame)
			flags := byte(0)
			if n == len(rest) {
				flags = flagEndStream
			}
			p.send(makeFrame(frameData, flags, id, rest[:n]))
			rest = rest[n:]
			window -= int64(n)
		}
		for {
			f := p.next()
			if f.kind == frameWindowUpdate {
				window += int64(binary.BigEndian.Uint32(f.payload))
			}
			if f.flags&flagEndStream != 0 && f.kind == frameHeaders {
				break
			}
		}
		require.GreaterOrEqual(t, window, int64(connWindow/2-len(body)))
	}
}

// TestBodiesAreBounded sends requests that remain incomplete, more than the connection's window, and then the
// rest.
func TestBodiesAreBounded(t *testing.T) {
	p := newPeer(t, Options{})
	body := lengthPrefixed(appendString(ask("a"), 100, make([]byte, 60_000)))
	const part = maxFrame
	id, kept := uint32(1), 0
	for ; kept+part <= maxBodies; kept += part {
		p.send(p.open(id), makeFrame(frameData, 0, id, body[:part]))
		id += 2
		if id == 2*50+1 {
			kept += part
			break // below the bound of streams
		}
	}
	last := id - 2
	for id = 1; kept+part <= maxBodies; kept += part {
		p.send(makeFrame(frameData, 0, id, body[part:2*part]))
		id += 2
	}
	p.send(makeFrame(frameData, 0, last, body[part:2*part]))
	code, text := p.failure(last)
	require.Equal(t, "8", code)
	require.Equal(t, "too many incomplete requests", text)
	p.expectReset(last, codeNo)
	p.send(makeFrame(frameData, 0, 1, body[2*part:3*part]),
		makeFrame(frameData, flagEndStream, 1, body[3*part:]))
	p.reply(1)
}
