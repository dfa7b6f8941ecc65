package rls

import (
	"errors"
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
