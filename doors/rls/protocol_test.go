package rls

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func settings(pairs ...uint32) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = appendSetting(b, uint16(pairs[i]), pairs[i+1])
	}
	return makeFrame(frameSettings, 0, 0, b)
}

// TestConnectionErrors sends what ends the connection, each behind a whole call, which is answered before.
func TestConnectionErrors(t *testing.T) {
	zeros := func(n int) []byte { return make([]byte, n) }
	tests := []struct {
		name  string
		opens []uint32 // streams that are opened before
		send  []byte
		code  errorCode
	}{
		{"frame too large", nil, makeFrame(frameData, 0, 1, zeros(maxFrame+1)), codeFrameSize},
		{"unknown frame too large", nil, makeFrame(77, 0, 0, zeros(maxFrame+1)), codeFrameSize},
		{"DATA on stream 0", nil, makeFrame(frameData, 0, 0, nil), codeProtocol},
		{"DATA on an idle stream", nil, makeFrame(frameData, 0, 9, nil), codeProtocol},
		{
			"DATA without padding's length",
			[]uint32{3},
			makeFrame(frameData, flagPadded, 3, nil), codeFrameSize,
		},
		{
			"DATA of padding only",
			[]uint32{3},
			makeFrame(frameData, flagPadded, 3, []byte{2, 0}), codeProtocol,
		},
		{"HEADERS on stream 0", nil, makeFrame(frameHeaders, flagEndHeaders, 0, nil), codeProtocol},
		{"HEADERS on an even stream", []uint32{2}, nil, codeProtocol},
		{"HEADERS on an earlier stream", []uint32{9, 7}, nil, codeProtocol},
		{"HEADERS on a closed stream", []uint32{1}, nil, codeStreamClosed},
		{
			"HEADERS of padding only", nil,
			makeFrame(frameHeaders, flagPadded|flagEndHeaders, 3, []byte{9, 0}), codeProtocol,
		},
		{
			"HEADERS without padding's length", nil,
			makeFrame(frameHeaders, flagPadded|flagEndHeaders, 3, nil), codeFrameSize,
		},
		{
			"HEADERS without the priority", nil,
			makeFrame(frameHeaders, flagPriority|flagEndHeaders, 3, zeros(4)), codeFrameSize,
		},
		{
			"HPACK index", nil,
			makeFrame(frameHeaders, flagEndHeaders, 3, []byte{0xff, 0x80, 0x01}), codeCompression,
		},
		{"HPACK cut", nil, makeFrame(frameHeaders, flagEndHeaders, 3, []byte{0x40, 5, 'a'}), codeCompression},
		{
			"HPACK table size", nil,
			makeFrame(frameHeaders, flagEndHeaders, 3, []byte{0x3f, 0xe2, 0x1f}), codeCompression, // 4097
		},
		{
			"HPACK string", nil,
			makeFrame(frameHeaders, flagEndHeaders, 3,
				append([]byte{0x40, 1, 'a', 0x7f, 0x82, 0x7f}, zeros(9)...)), codeCompression,
		},
		{"PRIORITY on stream 0", nil, makeFrame(framePriority, 0, 0, zeros(5)), codeProtocol},
		{"RST_STREAM on stream 0", nil, makeFrame(frameRSTStream, 0, 0, zeros(4)), codeProtocol},
		{"RST_STREAM on an idle stream", nil, makeFrame(frameRSTStream, 0, 9, zeros(4)), codeProtocol},
		{"RST_STREAM's size", nil, makeFrame(frameRSTStream, 0, 1, zeros(5)), codeFrameSize},
		{"SETTINGS on a stream", nil, makeFrame(frameSettings, 0, 1, nil), codeProtocol},
		{"SETTINGS' size", nil, makeFrame(frameSettings, 0, 0, zeros(5)), codeFrameSize},
		{"SETTINGS' acknowledgment", nil, makeFrame(frameSettings, flagAck, 0, zeros(6)), codeFrameSize},
		{"ENABLE_PUSH", nil, settings(settingEnablePush, 2), codeProtocol},
		{"INITIAL_WINDOW_SIZE", nil, settings(settingInitialWindow, 1<<31), codeFlowControl},
		{
			"INITIAL_WINDOW_SIZE of open streams",
			[]uint32{3},
			append(appendWindowUpdate(nil, 3, maxWindow-defaultWindow),
				settings(settingInitialWindow, defaultWindow+1)...), codeFlowControl,
		},
		{"MAX_FRAME_SIZE too small", nil, settings(settingMaxFrameSize, 1<<14-1), codeProtocol},
		{"MAX_FRAME_SIZE too large", nil, settings(settingMaxFrameSize, 1<<24), codeProtocol},
		{"PUSH_PROMISE", nil, makeFrame(framePushPromise, 0, 1, zeros(4)), codeProtocol},
		{"PING on a stream", nil, makeFrame(framePing, 0, 1, zeros(8)), codeProtocol},
		{"PING's size", nil, makeFrame(framePing, 0, 0, zeros(7)), codeFrameSize},
		{"GOAWAY on a stream", nil, makeFrame(frameGoAway, 0, 1, zeros(8)), codeProtocol},
		{"GOAWAY's size", nil, makeFrame(frameGoAway, 0, 0, zeros(7)), codeFrameSize},
		{"WINDOW_UPDATE's size", nil, makeFrame(frameWindowUpdate, 0, 0, zeros(3)), codeFrameSize},
		{"WINDOW_UPDATE of 0", nil, appendWindowUpdate(nil, 0, 0), codeProtocol},
		{"WINDOW_UPDATE's overflow", nil, appendWindowUpdate(nil, 0, maxWindow), codeFlowControl},
		{"WINDOW_UPDATE on an idle stream", nil, appendWindowUpdate(nil, 9, 1), codeProtocol},
		{"CONTINUATION first", nil, makeFrame(frameContinuation, flagEndHeaders, 1, nil), codeProtocol},
		{
			"CONTINUATION of another stream", nil,
			append(makeFrame(frameHeaders, 0, 3, nil), makeFrame(frameContinuation, 0, 5, nil)...),
			codeProtocol,
		},
		{
			"header block interrupted", nil,
			append(makeFrame(frameHeaders, 0, 3, nil), makeFrame(77, 0, 0, nil)...), codeProtocol,
		},
		{
			"header block of many frames", nil,
			append(makeFrame(frameHeaders, 0, 3, nil),
				bytes.Repeat(makeFrame(frameContinuation, 0, 3, nil), maxContinuations+1)...),
			codeEnhanceYourCalm,
		},
		{
			"header block of many bytes", nil,
			append(makeFrame(frameHeaders, 0, 3, zeros(maxFrame)),
				bytes.Repeat(makeFrame(frameContinuation, 0, 3, zeros(maxFrame)), 2)...), codeEnhanceYourCalm,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, Options{})
			p.send(p.call(1, ask("a")))
			for _, id := range tt.opens {
				p.send(p.open(id))
			}
			p.send(tt.send)
			p.reply(1)
			require.Equal(t, tt.code, codeOf(t, p.expectGoAway(tt.code)))
		})
	}
}

// TestStreamErrors sends what resets stream 1, and then calls.
func TestStreamErrors(t *testing.T) {
	message := lengthPrefixed(ask("a"))
	whole := func(p *peer, fields ...string) []byte { return p.call(1, ask("a"), fields...) }
	raw := func(p *peer, fields ...string) []byte {
		return makeFrame(frameHeaders, flagEndHeaders, 1, p.encode(fields...))
	}
	tests := []struct {
		name string
		send func(p *peer) []byte
		code errorCode
	}{
		{"upper case", func(p *peer) []byte { return p.open(1, "Upper", "v") }, codeProtocol},
		{"empty name", func(p *peer) []byte { return p.open(1, "", "v") }, codeProtocol},
		{"name with a space", func(p *peer) []byte { return p.open(1, "a b", "v") }, codeProtocol},
		{"value with a line", func(p *peer) []byte { return p.open(1, "a", "v\r\nb: c") }, codeProtocol},
		{"connection", func(p *peer) []byte { return p.open(1, "connection", "close") }, codeProtocol},
		{"te", func(p *peer) []byte { return p.open(1, "te", "gzip") }, codeProtocol},
		{"unknown pseudo", func(p *peer) []byte { return p.open(1, ":status", "200") }, codeProtocol},
		{"pseudo at the end", func(p *peer) []byte {
			return raw(p, ":method", "POST", ":scheme", "http", "te", "trailers", ":path", "/")
		}, codeProtocol},
		{"pseudo twice", func(p *peer) []byte {
			return raw(p, ":method", "POST", ":method", "POST", ":scheme", "http", ":path", "/")
		}, codeProtocol},
		{"pseudo missing", func(p *peer) []byte {
			return raw(p, ":method", "POST", ":scheme", "http")
		}, codeProtocol},
		{"empty path", func(p *peer) []byte { return p.open(1, ":path", "") }, codeProtocol},
		{"content-length", func(p *peer) []byte { return whole(p, "content-length", "1") }, codeProtocol},
		{"content-length too long", func(p *peer) []byte {
			return whole(p, "content-length", "99")
		}, codeProtocol},
		{"content-length negative", func(p *peer) []byte {
			return p.open(1, "content-length", "-1")
		}, codeProtocol},
		{"content-length and trailers", func(p *peer) []byte {
			return append(p.open(1, "content-length", "99"),
				makeFrame(frameHeaders, flagEndHeaders|flagEndStream, 1, p.encode("a", "b"))...)
		}, codeProtocol},
		{"trailers that do not end", func(p *peer) []byte {
			return append(p.open(1), makeFrame(frameHeaders, flagEndHeaders, 1, p.encode("a", "b"))...)
		}, codeProtocol},
		{"trailers with a pseudo-header", func(p *peer) []byte {
			return append(p.open(1),
				makeFrame(frameHeaders, flagEndHeaders|flagEndStream, 1, p.encode(":path", "/"))...)
		}, codeProtocol},
		{"WINDOW_UPDATE of 0", func(p *peer) []byte {
			return append(p.open(1), appendWindowUpdate(nil, 1, 0)...)
		}, codeProtocol},
		{"WINDOW_UPDATE's overflow", func(p *peer) []byte {
			return append(p.open(1), appendWindowUpdate(nil, 1, maxWindow)...)
		}, codeFlowControl},
		{"PRIORITY's size", func(p *peer) []byte {
			return append(p.open(1), makeFrame(framePriority, 0, 1, make([]byte, 4))...)
		}, codeFrameSize},
		{"beyond the stream's window", func(p *peer) []byte {
			b := append(p.open(1), makeFrame(frameData, 0, 1, message[:len(message)-1])...)
			// Padding takes of the window, too.
			padding := makeFrame(frameData, flagPadded, 1, append([]byte{255}, make([]byte, 255)...))
			return append(b, bytes.Repeat(padding, streamWindow/256)...)
		}, codeFlowControl},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, Options{})
			p.send(tt.send(p))
			p.expectReset(1, tt.code)
			p.expectAlive()
			p.send(p.call(3, ask("a")))
			p.reply(3)
		})
	}
}

func TestDataOnClosedStream(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.call(1, ask("a")))
	p.reply(1)
	p.send(makeFrame(frameData, 0, 1, []byte("x")))
	p.expectReset(1, codeStreamClosed)
	p.send(appendRSTStream(nil, 1, codeCancel), appendWindowUpdate(nil, 1, 0))
	p.expectAlive()
	// What crosses an early answer is ignored, trailers too.
	p.send(p.open(3, ":path", "/other"))
	p.failure(3)
	p.expectReset(3, codeNo)
	p.send(makeFrame(frameData, 0, 3, []byte("x")),
		makeFrame(frameHeaders, flagEndHeaders|flagEndStream, 3, p.encode("a", "b")))
	p.expectAlive()
}

// TestIgnored sends what means nothing here.
func TestIgnored(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(makeFrame(77, 0xff, 5, []byte("unknown")), makeFrame(framePriority, 0, 7, make([]byte, 5)),
		makeFrame(framePing, flagAck, 0, make([]byte, 8)), settings(0xabcd, 1))
	require.Equal(t, byte(flagAck), p.nextOf(frameSettings).flags)
	p.send(append(p.open(9, "grpc-timeout", "1n", "grpc-encoding", "identity", "content-type",
		"application/grpc+proto"),
		makeFrame(frameData, 0, 9, lengthPrefixed(ask("a")))...),
		makeFrame(frameHeaders, flagEndHeaders|flagEndStream, 9, p.encode("a-trailer", "v")))
	p.reply(9)
	p.expectAlive()
}

func TestTooManyStreams(t *testing.T) {
	p := newPeer(t, Options{})
	id := uint32(1)
	for range maxStreams {
		p.send(p.open(id))
		id += 2
	}
	p.send(p.open(id))
	p.expectReset(id, codeRefusedStream)
	p.send(makeFrame(frameData, flagEndStream, 1, lengthPrefixed(ask("a"))))
	p.reply(1)
	p.send(p.call(id+2, ask("a")))
	p.reply(id + 2)
}

// TestFloods sends frames that are harmless one by one, up to the bound and beyond.
func TestFloods(t *testing.T) {
	tests := []struct {
		name  string
		bound int
		one   func(p *peer, id uint32) []byte
	}{
		{"rapid reset", maxFaults, func(p *peer, id uint32) []byte {
			return append(p.open(id), appendRSTStream(nil, id, codeCancel)...)
		}},
		{"malformed", maxFaults, func(p *peer, id uint32) []byte { return p.open(id, "Upper", "v") }},
		{"early errors", maxFaults, func(p *peer, id uint32) []byte { return p.open(id, ":path", "/other") }},
		{
			"PING", maxControl - 2,
			func(*peer, uint32) []byte { return makeFrame(framePing, 0, 0, make([]byte, 8)) },
		},
		{"SETTINGS", maxControl - 2, func(*peer, uint32) []byte { return settings() }},
		{"unknown", maxControl - 2, func(*peer, uint32) []byte { return makeFrame(99, 0, 0, nil) }},
		{
			"PRIORITY", maxControl - 2,
			func(*peer, uint32) []byte { return makeFrame(framePriority, 0, 1, make([]byte, 5)) },
		},
		{
			"WINDOW_UPDATE", maxControl - 2,
			func(*peer, uint32) []byte { return appendWindowUpdate(nil, 0, 1) },
		},
		{"WINDOW_UPDATE of a stream that has ended", maxControl - 2, ofEndedStream(
			appendWindowUpdate(nil, 1, 1))},
		{"RST_STREAM of a stream that has ended", maxControl - 2, ofEndedStream(
			appendRSTStream(nil, 1, codeCancel))},
		{"empty DATA", maxControl - 2, func(p *peer, id uint32) []byte {
			if id == 1 {
				return append(p.open(1), makeFrame(frameData, 0, 1, nil)...)
			}
			return makeFrame(frameData, 0, 1, nil)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, Options{})
			id := uint32(1)
			some := func(n int) {
				for range n {
					p.send(tt.one(p, id))
					id += 2
				}
				p.conn.waitIdle()
			}
			some(tt.bound)
			p.clock.advance(1e9) // a second
			some(tt.bound)
			require.Empty(t, p.done)
			some(3)
			p.expectGoAway(codeEnhanceYourCalm)
		})
	}
}

// ofEndedStream sends a frame about the first stream, which is answered before.
func ofEndedStream(frame []byte) func(p *peer, id uint32) []byte {
	return func(p *peer, id uint32) []byte {
		if id > 1 {
			return frame
		}
		p.send(p.call(1, ask("a")))
		p.reply(1)
		return nil
	}
}

// TestPreface sends other beginnings.
func TestPreface(t *testing.T) {
	tests := []struct {
		name, send, answer string
	}{
		{"HTTP/1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", answerHTTP1},
		{"HTTP/1 POST", "POST /json HTTP/1.1\r\n", answerHTTP1},
		{"almost", preface[:len(preface)-1] + "x", answerHTTP1},
		{"TLS", "\x16\x03\x01", ""},
		{"RESP", "*1\r\n$4\r\nPING\r\n", ""},
	}
	for _, tt := range tests {
		p := rawPeer(t, Options{})
		p.send([]byte(tt.send))
		require.Error(t, p.expectEnd(), tt.name)
		require.Equal(t, len(tt.answer), p.conn.size(), tt.name)
		require.Equal(t, tt.answer, string(p.conn.take(len(tt.answer))), tt.name)
	}
	p := rawPeer(t, Options{})
	for i := range preface {
		p.send([]byte(preface[i : i+1]))
		p.conn.waitIdle()
	}
	p.send(makeFrame(framePing, 0, 0, make([]byte, 8))) // not SETTINGS
	p.expectGoAway(codeProtocol)
}

// TestFirstSettings requires our SETTINGS to say the bounds.
func TestFirstSettings(t *testing.T) {
	p := rawPeer(t, Options{})
	p.send([]byte(preface))
	f := p.next()
	require.Equal(t, byte(frameSettings), f.kind)
	got := map[uint16]uint32{}
	for b := f.payload; len(b) > 0; b = b[6:] {
		got[binary.BigEndian.Uint16(b)] = binary.BigEndian.Uint32(b[2:])
	}
	require.Equal(t, map[uint16]uint32{
		settingMaxStreams: 100, settingInitialWindow: streamWindow, settingMaxHeaderListSize: maxHeaderList,
	}, got)
}

// TestCallsPayForControlFrames has a client of grpc-go's kind, which sends a PING for each answer.
func TestCallsPayForControlFrames(t *testing.T) {
	p := newPeer(t, Options{})
	for id := uint32(1); id < 3*maxControl; id += 2 {
		p.send(makeFrame(framePing, 0, 0, make([]byte, 8)), p.call(id, ask("a")))
		p.reply(id)
	}
	p.expectAlive()
}
