package rls

import (
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
