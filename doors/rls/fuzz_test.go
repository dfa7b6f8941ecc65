package rls

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

// FuzzConnection feeds a connection frames behind the preface, in two reads, and checks its accounts.
func FuzzConnection(f *testing.F) {
	p := &peer{t: f}
	p.enc, p.dec = newCodecs(p)
	call := p.call(1, ask("a"))
	f.Add(call, 10)
	f.Add(append(call, p.open(3, "content-length", "5")...), 40)
	f.Add(join(settings(settingInitialWindow, 3), call, appendWindowUpdate(nil, 1, 4),
		appendWindowUpdate(nil, 0, 9)), 30)
	f.Add(join(p.open(1), appendRSTStream(nil, 1, codeCancel),
		makeFrame(frameData, flagPadded, 1, []byte{1, 2, 0})), 7)
	f.Add(join(makeFrame(frameHeaders, 0, 1, nil),
		makeFrame(frameContinuation, flagEndHeaders, 1, p.encode(callFields...))), 9)
	f.Add(join(makeFrame(framePing, 0, 0, make([]byte, 8)), makeFrame(frameGoAway, 0, 0, make([]byte, 8))), 3)
	f.Add(makeFrame(framePriority, 0, 1, make([]byte, 4)), 0)
	f.Fuzz(func(t *testing.T, frames []byte, cut int) {
		var l logins
		opts := Options{Login: l.login(allow), Now: newClock().Now, Metadata: true}
		c := newConn(new(scriptConn), "", &New(&opts).opts)
		c.now = c.opts.Now()
		c.handshake.opened, c.counters.second = c.now, c.now
		c.in.buf = make([]byte, 1<<16)
		head := join([]byte(preface), makeFrame(frameSettings, 0, 0, nil))
		frames = frames[:min(len(frames), 1<<15)]
		cut = max(0, min(cut, len(frames)))
		for _, part := range [][]byte{head, frames[:cut], frames[cut:]} {
			c.in.have += copy(c.in.buf[c.in.have:], part)
			end, _ := c.round(nil)
			checkAccounts(t, c)
			if end {
				break
			}
		}
	})
}

// checkAccounts requires that what a connection counts agrees with its streams.
func checkAccounts(t *testing.T, c *conn) {
	pending, bodies, last := 0, 0, uint32(0)
	for _, s := range c.streams.open {
		require.Less(t, last, s.id)
		last = s.id
		pending += len(s.response.unsent)
		bodies += s.counted
		require.LessOrEqual(t, s.counted, len(s.body))
		require.Equal(t, s.state == stateBlocked, len(s.response.unsent) > 0)
		require.LessOrEqual(t, len(s.body), maxMessage+prefixSize)
	}
	require.LessOrEqual(t, last, c.streams.lastID)
	require.LessOrEqual(t, len(c.streams.open), maxStreams)
	require.Equal(t, pending, c.windows.pending)
	require.Equal(t, bodies, c.windows.bodies)
	require.LessOrEqual(t, bodies, maxBodies)
	require.Less(t, c.windows.consumed, int64(connWindow/2))
}

// TestCheckAccounts has a connection whose accounts are wrong, seen by another test's T.
func TestCheckAccounts(t *testing.T) {
	c := newConn(new(scriptConn), "", &Options{})
	checkAccounts(t, c)
	c.windows.bodies--
	var wrong testing.T
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine
		defer close(done)
		checkAccounts(&wrong, c)
	}()
	<-done
	require.True(t, wrong.Failed())
}

// FuzzDecode decodes messages, which answers for each descriptor what it refers to, or fails.
func FuzzDecode(f *testing.F) {
	f.Add(ask("a", "b"))
	f.Add(message(2, message(2, number(1, 5), number(2, 1)), message(3, number(1, 1))))
	f.Add([]byte{0x12, 0x02, 0x0a, 0x00, 0xfb, 0x04, 0xfc, 0x04})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d requestDecoder
		if err := d.decode(b); err != nil {
			return
		}
		require.LessOrEqual(t, len(d.request.Descriptors), maxDescriptors)
		entries := 0
		for _, descriptor := range d.request.Descriptors {
			require.LessOrEqual(t, len(descriptor.Entries), maxEntries)
			entries += len(descriptor.Entries)
		}
		require.Len(t, d.entries, entries)
		response := &doors.Response{Binding: -1}
		appendResponse(nil, &d.request, response, &Options{Metadata: true})
	})
}
