package rls

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/policy"
)

// A scriptConn is a connection that a test reads for itself: it calls round with what it writes to buf.
type scriptConn struct {
	net.Conn
	written int
}

func (c *scriptConn) Write(b []byte) (int, error) { c.written += len(b); return len(b), nil }

func (*scriptConn) SetReadDeadline(time.Time) error { return nil }

func (*scriptConn) SetWriteDeadline(time.Time) error { return nil }

func (*scriptConn) Close() error { return nil }

func (*scriptConn) RemoteAddr() net.Addr { return nil }

// limited answers with a limit for each descriptor.
func limited(request *doors.Request, response *doors.Response) error {
	response.Code, response.Binding, response.Statuses = doors.OK, 0, response.Statuses[:0]
	for range request.Descriptors {
		response.Statuses = append(response.Statuses, doors.Status{
			Code: doors.OK, HasLimit: true, Remaining: 17, ResetSeconds: 30, HasReset: true,
			Limit: doors.Limit{Name: "requests", Requests: 100, Unit: policy.Minute},
		})
	}
	return nil
}

// scripted returns a function that has a new connection handle a number of calls in a round.
func scripted(t testing.TB, nc net.Conn, opts Options) (round func(calls int)) {
	var l logins
	opts.Login = l.login(limited)
	p := &peer{t: t}
	p.enc, p.dec = newCodecs(p)
	c := newConn(nc, "", &New(&opts).opts)
	c.now = c.opts.Now()
	c.handshake.opened, c.streams.idleSince, c.counters.second = c.now, c.now, c.now
	c.in.buf = make([]byte, maxReadBuffer)
	id, frames := uint32(1), []byte(nil)
	frames = append(frames, preface...)
	frames = append(frames, settings(settingInitialWindow, maxWindow)...)
	frames = append(frames, appendWindowUpdate(nil, 0, maxWindow-defaultWindow)...)
	message, block := ask("a", "b"), p.encode(callFields...)
	return func(calls int) {
		for range calls {
			if id == 3 {
				block = p.encode(callFields...) // indexes only, from now on
			}
			frames = appendFrame(frames, len(block), frameHeaders, flagEndHeaders, id)
			frames = append(frames, block...)
			frames = appendFrame(frames, prefixSize+len(message), frameData, flagEndStream, id)
			frames = append(append(frames, 0, 0, 0, 0, byte(len(message))), message...)
			id += 2
		}
		c.in.have += copy(c.in.buf[c.in.have:], frames)
		frames = frames[:0]
		err := c.setReadDeadline()
		end, roundErr := c.round(nil)
		if err != nil || roundErr != nil || end || c.in.have > 0 {
			t.Fatal(err, roundErr, end, c.in.have)
		}
	}
}

// TestAllocations requires that calls of a peer whose headers do not change allocate nothing.
func TestAllocations(t *testing.T) {
	var conn scriptConn
	opts := Options{Metadata: true, Headers: [3]string{"limit", "remaining", "reset"}}
	round := scripted(t, &conn, opts)
	round(0)
	const calls, perRound = 100, 10
	round(perRound)
	before := conn.written
	require.Zero(t, testing.AllocsPerRun(calls, func() { round(perRound) }))
	require.Greater(t, conn.written-before, calls*perRound*100)

	// The measure finds one allocation in a round.
	require.Equal(t, 1.0, testing.AllocsPerRun(calls, func() {
		round(perRound)
		escaped = new([64]byte)
	}))
}

var escaped *[64]byte

// BenchmarkCalls has calls of two descriptors, 10 with one read.
func BenchmarkCalls(b *testing.B) {
	var conn scriptConn
	round := scripted(b, &conn, Options{})
	round(10)
	b.ReportAllocs()
	for b.Loop() {
		round(10)
	}
}
