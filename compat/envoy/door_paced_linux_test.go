package envoy

import (
	"bytes"
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// A pacedConn is a connection of HTTP/2 to a rate limit service whose client is nothing but its frames: what
// grpc-go's client takes of a core would be part of every time measured.
type pacedConn struct {
	t       *testing.T
	fd      int
	headers []byte // a header block without the dynamic table
	next    uint32
	due     map[uint32]time.Duration // of calls without an answer, by stream
	in      []byte
	out     bytes.Buffer
	framer  *http2.Framer
}

func newPacedConn(t *testing.T, addr string) *pacedConn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	f, err := nc.(*net.TCPConn).File() // of its own descriptor, which is made non-blocking
	require.NoError(t, err)
	require.NoError(t, nc.Close())
	t.Cleanup(func() { f.Close() })
	c := &pacedConn{t: t, fd: int(f.Fd()), next: 1, due: map[uint32]time.Duration{}}
	require.NoError(t, syscall.SetNonblock(c.fd, true))
	c.framer = http2.NewFramer(&c.out, nil)

	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	e.SetMaxDynamicTableSize(0)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
		{":authority", addr},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	c.headers = block.Bytes()
	c.out.WriteString(http2.ClientPreface)
	require.NoError(t, c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}))
	require.NoError(t, c.framer.WriteWindowUpdate(0, 1<<30))
	return c
}

// call sends a call that was due at an instant.
func (c *pacedConn) call(message []byte, due time.Duration) {
	id := c.next
	c.next += 2
	c.due[id] = due
	require.NoError(c.t, c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.headers, EndHeaders: true,
	}))
	prefixed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	require.NoError(c.t, c.framer.WriteData(id, true, prefixed))
	c.flush()
}

func (c *pacedConn) flush() {
	n, err := syscall.Write(c.fd, c.out.Bytes())
	require.NoError(c.t, err)
	require.Equal(c.t, c.out.Len(), n, "the socket is full")
	c.out.Reset()
}

// receive reads what has arrived, and calls done for every call that ends.
func (c *pacedConn) receive(done func(due time.Duration)) {
	var b [1 << 14]byte
	n, err := syscall.Read(c.fd, b[:])
	if err == syscall.EAGAIN {
		return
	}
	require.NoError(c.t, err)
	require.Positive(c.t, n, "the service has hung up")
	c.in = append(c.in, b[:n]...)
	rest := c.in
	for len(rest) >= 9 {
		size := 9 + (int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2]))
		if len(rest) < size {
			break
		}
		kind, flags, id := http2.FrameType(rest[3]), http2.Flags(rest[4]), binary.BigEndian.Uint32(rest[5:])
		require.NotEqual(c.t, http2.FrameRSTStream, kind)
		require.NotEqual(c.t, http2.FrameGoAway, kind)
		if kind == http2.FrameHeaders && flags.Has(http2.FlagHeadersEndStream) {
			due, ok := c.due[id]
			require.True(c.t, ok, "an answer to no call")
			delete(c.due, id)
			done(due)
		}
		rest = rest[size:]
	}
	c.in = append(c.in[:0], rest...)
}

// paceDoor makes calls over four connections, rate a second, and returns how long each took, sorted, from when it was
// due. It never sleeps.
func paceDoor(t *testing.T, addr string, calls, rate int) []time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var conns [4]*pacedConn
	for i := range conns {
		conns[i] = newPacedConn(t, addr)
	}
	var messages [1000][]byte
	for i := range messages {
		var err error
		messages[i], err = proto.Marshal(request("edge", []string{"ip", strconv.Itoa(i)},
			[]string{"path", "/login"}))
		require.NoError(t, err)
	}
	times := make([]time.Duration, 0, calls)
	begin := time.Now()
	for sent := 0; len(times) < calls; {
		due := time.Duration(sent) * time.Second / time.Duration(rate)
		if sent < calls && time.Since(begin) >= due {
			conns[sent%len(conns)].call(messages[sent%len(messages)], due)
			sent++
		}
		for _, c := range conns {
			c.receive(func(due time.Duration) { times = append(times, time.Since(begin)-due) })
		}
		require.Less(t, time.Since(begin), time.Minute, "calls without an answer")
	}
	slices.Sort(times)
	return times
}
