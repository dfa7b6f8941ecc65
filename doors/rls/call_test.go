package rls

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

// TestResponsesUseNoTable requires that the first header block resizes the table to 0, and that no block
// indexes.
func TestResponsesUseNoTable(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.call(1, ask("a")), p.call(3, ask("a")))
	require.Equal(t, "\x20\x88", string(p.nextOf(frameHeaders).payload[:2]))
	p.nextOf(frameHeaders)
	require.Equal(t, "\x88\x0f", string(p.nextOf(frameHeaders).payload[:2]))
	p.nextOf(frameHeaders)
	p.dec.SetMaxDynamicTableSize(0)
	p.send(p.call(5, ask("a")))
	p.reply(5)
}

func TestCall(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.call(1, ask("a", "b")))
	overall, statuses := codes(t, p.reply(1))
	require.Equal(t, uint64(1), overall)
	require.Equal(t, []uint64{1, 1}, statuses)
	p.send(p.call(3, ask("a")), p.call(5, ask("a", "b", "c")))
	_, statuses = codes(t, p.reply(3))
	require.Len(t, statuses, 1)
	_, statuses = codes(t, p.reply(5))
	require.Len(t, statuses, 3)
}

// TestCallInPieces sends the frames byte by byte, and the message in many DATA frames with padding.
func TestCallInPieces(t *testing.T) {
	p := newPeer(t, Options{})
	block := p.encode(callFields...)
	frames := makeFrame(frameHeaders, flagPadded|flagPriority, 1,
		append([]byte{3, 0, 0, 0, 0, 16}, append(block[:5:5], 0, 0, 0)...))
	frames = append(frames, makeFrame(frameContinuation, 0, 1, block[5:9])...)
	frames = append(frames, makeFrame(frameContinuation, flagEndHeaders, 1, block[9:])...)
	for _, b := range lengthPrefixed(ask("a")) {
		frames = append(frames, makeFrame(frameData, flagPadded, 1, []byte{2, b, 0, 0})...)
	}
	frames = append(frames, makeFrame(frameData, flagEndStream, 1, nil)...)
	for i := range frames {
		p.send(frames[i : i+1])
		p.conn.waitIdle()
	}
	_, statuses := codes(t, p.reply(1))
	require.Len(t, statuses, 1)
}

func TestHealth(t *testing.T) {
	serving := true
	p := newPeer(t, Options{Serving: func() bool { return serving }})
	id := uint32(1)
	for _, name := range []string{"", "ratelimit", service} {
		p.send(p.call(id, appendString(nil, 1, name), ":path", pathHealth))
		require.Equal(t, "\x08\x01", string(p.reply(id)))
		id += 2
	}
	p.send(p.call(id, appendString(nil, 1, "other"), ":path", pathHealth))
	code, _ := p.failure(id)
	require.Equal(t, "5", code)
	p.conn.waitIdle()
	serving = false
	p.send(p.call(id+2, nil, ":path", pathHealth))
	require.Equal(t, "\x08\x02", string(p.reply(id+2)))
	require.Zero(t, p.logins.opened, "health needs no login")
}

// TestCallErrors calls in wrong ways that end the stream only.
func TestCallErrors(t *testing.T) {
	message := lengthPrefixed(ask("a"))
	long := strings.Repeat("0", 6000) // of five bits each
	tests := []struct {
		name   string
		fields []string
		data   []byte
		http   string
		code   string
		text   string // a part of it
	}{
		{"method", []string{":method", "GET"}, message, "405", "13", "POST"},
		{"content type", []string{"content-type", "application/json"}, message, "415", "13", "content type"},
		{"grpc-web", []string{"content-type", "application/grpc-web"}, message, "415", "13", "content type"},
		{"codec", []string{"content-type", "application/grpc+json"}, message, "415", "13", "content type"},
		{"path", []string{":path", "/a.B/C"}, message, "200", "12", "unknown method /a.B/C"},
		{"path, encoded", []string{":path", "/ä%"}, message, "200", "12", "/%C3%A4%25"},
		{"watch", []string{":path", "/grpc.health.v1.Health/Watch"}, message, "200", "12", "Watch"},
		{"header list", []string{"a", long, "b", long, "c", long}, message, "431", "8", "headers larger"},
		{"no message", nil, nil, "200", "13", "no message"},
		{"no prefix", nil, []byte{0, 0, 0}, "200", "13", "no message"},
		{"cut", nil, message[:len(message)-1], "200", "13", "incomplete"},
		{"two", nil, append(message[:len(message):len(message)], message...), "200", "13", "more than one"},
		{"huge", nil, []byte{0, 0x40, 0, 0, 0}, "200", "8", "larger than 65536"},
		{"flags", nil, []byte{2, 0, 0, 0, 0}, "200", "13", "flags"},
		{"compressed", []string{"grpc-encoding", "gzip"}, []byte{1, 0, 0, 0, 0}, "200", "12", "compressed"},
		{"compressed by none", nil, []byte{1, 0, 0, 0, 0}, "200", "13", "without grpc-encoding"},
		{"protobuf", nil, lengthPrefixed([]byte{0x0a, 9}), "200", "13", "malformed"},
		{"health", []string{":path", pathHealth}, lengthPrefixed([]byte{0x0a, 9}), "200", "13", "malformed"},
		{"UTF-8", nil, lengthPrefixed([]byte{0x0a, 1, 0xff}), "200", "13", "UTF-8"},
	}
	for _, tt := range tests {
		for _, split := range []bool{false, true} {
			t.Run(tt.name+"/"+strconv.FormatBool(split), func(t *testing.T) {
				p := newPeer(t, Options{})
				p.send(p.open(1, tt.fields...))
				if split {
					p.send(makeFrame(frameData, 0, 1, tt.data), makeFrame(frameData, flagEndStream, 1, nil))
				} else {
					p.send(makeFrame(frameData, flagEndStream, 1, tt.data))
				}
				code, text := p.failure(1)
				require.Equal(t, tt.code, code)
				require.Contains(t, text, tt.text)
				require.Equal(t, tt.http, p.fields[":status"])
				if code == "12" {
					require.Equal(t, "identity", p.fields["grpc-accept-encoding"])
				}
				p.conn.waitIdle()
				if p.conn.size() > 0 {
					p.expectReset(1, codeNo)
				}
				p.send(p.call(3, ask("a")))
				p.reply(3)
			})
		}
	}
}

// TestCompressionStateSurvives refuses and ignores streams, whose headers later ones refer to.
func TestCompressionStateSurvives(t *testing.T) {
	p := newPeer(t, Options{})
	p.send(p.open(1, "content-length", "x", "a", "1")) // malformed
	p.expectReset(1, codeProtocol)
	p.send(p.call(3, ask("k"), ":path", "/other", "b", "2"))
	code, _ := p.failure(3)
	require.Equal(t, "12", code)
	p.expectReset(3, codeNo)
	p.send(p.call(5, ask("k"), "a", "1", "b", "2"))
	p.reply(5)
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		err        error
		code, text string
	}{
		{
			&doors.Refusal{Reason: doors.Invalid, Text: "rate limit domain must not be empty"}, "2",
			"rate limit domain must not be empty",
		},
		{&doors.Refusal{Reason: doors.Forbidden, Text: "no"}, "7", "no"},
		{&doors.Refusal{Reason: doors.UnknownDomain, Text: "no"}, "5", "no"},
		{&doors.Refusal{Reason: doors.Unavailable, Text: "no"}, "14", "no"},
		{&doors.Refusal{Reason: doors.Unauthenticated, Text: "no"}, "16", "no"},
		{&doors.Refusal{Reason: 200, Text: "no"}, "13", "no"},
		{
			&doors.Refusal{Reason: doors.Invalid, Text: strings.Repeat("%", 5000)}, "2",
			strings.Repeat("%25", maxStatusBytes),
		},
		{errors.New("secret"), "13", "internal error"},
	}
	for _, tt := range tests {
		var l logins
		p := newPeer(t,
			Options{Login: l.login(func(*doors.Request, *doors.Response) error { return tt.err })})
		p.send(p.call(1, ask("a")), p.call(3, ask("a")))
		for _, id := range []uint32{1, 3} {
			code, text := p.failure(id)
			require.Equal(t, tt.code, code)
			require.Equal(t, tt.text, text)
		}
		want := 1
		if tt.code == "16" { // logged in again for the second
			want = 2
		}
		require.Equal(t, want, l.opened)
	}
}

func TestLogins(t *testing.T) {
	var l logins
	inner := l.login(allow)
	p := newPeer(t, Options{Login: func(c doors.Credentials) (doors.Client, error) {
		if c.Authorization == "wrong" {
			return nil, &doors.Refusal{Reason: doors.Unauthenticated, Text: "WRONGPASS"}
		}
		return inner(c)
	}})
	id := uint32(1)
	call := func(authorization string) {
		p.send(p.call(id, ask("a"), "authorization", authorization))
		p.reply(id)
		id += 2
	}
	for range 3 {
		call("a")
		call("b")
	}
	require.Equal(t, []doors.Credentials{
		{Authorization: "a", CommonName: "envoy.example", Addr: "192.0.2.1:4711"},
		{Authorization: "b", CommonName: "envoy.example", Addr: "192.0.2.1:4711"},
	}, l.seen)
	p.send(p.call(id, ask("a"), "authorization", "wrong"))
	code, text := p.failure(id)
	require.Equal(t, "16", code)
	require.Equal(t, "WRONGPASS", text)
	id += 2
	for _, a := range []string{"c", "d", "b", "e"} { // a is the least recently used
		call(a)
	}
	require.Equal(t, 5, l.opened)
	require.Equal(t, 1, l.left)
	call("b")
	require.Equal(t, 5, l.opened)
	call("a")
	require.Equal(t, 6, l.opened)
	p.conn.Close()
	require.NoError(t, p.expectEnd())
	require.Equal(t, 6, l.left)
}

func TestPanic(t *testing.T) {
	for _, waits := range []bool{false, true} {
		var (
			l   logins
			log []string
		)
		p := newPeer(t, Options{
			Login: l.login(func(*doors.Request, *doors.Response) error { panic("planted") }),
			Waits: func() bool { return waits },
			Log:   func(format string, args ...any) { log = append(log, format) },
		})
		p.send(p.call(1, ask("a")))
		err := p.expectEnd()
		if !waits {
			require.Error(t, err)
		}
		require.NotEmpty(t, log)
		require.Equal(t, 1, l.left, "the client is closed")
	}
}
