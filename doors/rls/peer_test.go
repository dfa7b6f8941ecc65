package rls

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zlimit/zlimit/doors"
)

// A client decides by a function.
type client struct {
	doors.Client // without what gRPC does not ask

	decide func(*doors.Request, *doors.Response) error
	closed func()
}

func (c *client) Decide(request *doors.Request, response *doors.Response) error {
	return c.decide(request, response)
}

func (c *client) Close() {
	if c.closed != nil {
		c.closed()
	}
}

// allow answers OK for each descriptor.
func allow(request *doors.Request, response *doors.Response) error {
	response.Code, response.Binding = doors.OK, -1
	response.Statuses = response.Statuses[:0]
	for range request.Descriptors {
		response.Statuses = append(response.Statuses, doors.Status{Code: doors.OK})
	}
	return nil
}

// logins lets all in, with clients that decide by a function, and counts them.
type logins struct {
	mu           sync.Mutex
	seen         []doors.Credentials
	opened, left int
}

func (l *logins) login(decide func(*doors.Request, *doors.Response) error) doors.Login {
	return func(c doors.Credentials) (doors.Client, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, c)
		l.opened++
		return &client{decide: decide, closed: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.left++
		}}, nil
	}
}

// A peer is the client's end of a connection to a Server under test.
type peer struct {
	t      testing.TB
	conn   *memConn
	clock  *clock
	server *Server
	logins *logins
	done   chan error
	block  bytes.Buffer
	enc    *hpack.Encoder
	dec    *hpack.Decoder
	fields map[string]string
	newest uint32 // stream of a case
}

// rawPeer starts a server for a connection, on which nothing was sent.
func rawPeer(t testing.TB, opts Options) *peer {
	p := &peer{t: t, clock: newClock(), logins: &logins{}, done: make(chan error, 1), newest: 1}
	if opts.Login == nil {
		opts.Login = p.logins.login(allow)
	}
	opts.Now = p.clock.Now
	if opts.Log == nil {
		opts.Log = t.Logf
	}
	p.conn = newMemConn(p.clock)
	p.enc, p.dec = newCodecs(p)
	p.server = New(&opts)
	go func() { p.done <- p.server.Serve(p.conn, "envoy.example") }()
	t.Cleanup(func() {
		p.conn.Close()
		<-p.done
	})
	return p
}

// newCodecs returns the encoder and the decoder of a peer's headers.
func newCodecs(p *peer) (*hpack.Encoder, *hpack.Decoder) {
	return hpack.NewEncoder(&p.block), hpack.NewDecoder(4096,
		func(f hpack.HeaderField) { p.fields[f.Name] = f.Value })
}

// newPeer starts a server for a connection, on which both sides have sent their SETTINGS.
func newPeer(t testing.TB, opts Options) *peer {
	p := rawPeer(t, opts)
	p.send([]byte(preface), appendFrame(nil, 0, frameSettings, 0, 0))
	f := p.next()
	require.Equal(t, byte(frameSettings), f.kind)
	require.Equal(t, byte(frameWindowUpdate), p.next().kind)
	f = p.next()
	require.Equal(t, byte(frameSettings), f.kind)
	require.Equal(t, byte(flagAck), f.flags)
	p.send(appendFrame(nil, 0, frameSettings, flagAck, 0))
	return p
}

func (p *peer) send(parts ...[]byte) { p.conn.feed(bytes.Join(parts, nil)) }

// makeFrame returns a frame.
func makeFrame(kind, flags byte, stream uint32, payload []byte) []byte {
	return append(appendFrame(nil, len(payload), kind, flags, stream), payload...)
}

// encode returns a header block. Fields are in pairs.
func (p *peer) encode(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		require.NoError(p.t, p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	return bytes.Clone(p.block.Bytes())
}

var callFields = []string{
	":method", "POST", ":scheme", "http", ":path", pathDecide, ":authority", "limits",
	"content-type", "application/grpc", "te", "trailers",
}

// with returns the fields of a call, where some are replaced and others appended.
func with(fields ...string) []string {
	all := append([]string(nil), callFields...)
next:
	for i := 0; i < len(fields); i += 2 {
		for j := 0; j < len(all); j += 2 {
			if all[j] == fields[i] {
				all[j+1] = fields[i+1]
				continue next
			}
		}
		all = append(all, fields[i], fields[i+1])
	}
	return all
}

// open returns the HEADERS of a call whose message follows.
func (p *peer) open(stream uint32, fields ...string) []byte {
	return makeFrame(frameHeaders, flagEndHeaders, stream, p.encode(with(fields...)...))
}

// lengthPrefixed returns a message as gRPC sends it.
func lengthPrefixed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// call returns the frames of a call.
func (p *peer) call(stream uint32, message []byte, fields ...string) []byte {
	return append(p.open(stream, fields...),
		makeFrame(frameData, flagEndStream, stream, lengthPrefixed(message))...)
}

// ask returns a RateLimitRequest with a descriptor for each key.
func ask(keys ...string) []byte {
	b := appendString(nil, 1, "domain")
	for _, key := range keys {
		entry := appendString(appendString(nil, 1, key), 2, "v")
		b = appendString(b, 2, appendString(nil, 1, entry))
	}
	return b
}

// next returns the next frame of the server; its kind is 0xff if the server has closed the connection.
func (p *peer) next() frame {
	head := p.conn.take(frameHead)
	if head == nil {
		return frame{kind: 0xff}
	}
	size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	require.LessOrEqual(p.t, size, maxFrame)
	f := frame{kind: head[3], flags: head[4], stream: binary.BigEndian.Uint32(head[5:])}
	if size > 0 {
		f.payload = p.conn.take(size)
	}
	if f.kind == frameHeaders {
		p.fields = map[string]string{}
		_, err := p.dec.Write(f.payload)
		require.NoError(p.t, err)
		require.NoError(p.t, p.dec.Close())
	}
	return f
}

// nextOf returns the next frame of a kind, and skips others.
func (p *peer) nextOf(kind byte) frame {
	for {
		if f := p.next(); f.kind == kind || f.kind == 0xff {
			require.Equal(p.t, kind, f.kind)
			return f
		}
	}
}

// reply returns the message that answers a call, without its prefix.
func (p *peer) reply(stream uint32) []byte {
	f := p.nextOf(frameHeaders)
	require.Equal(p.t, stream, f.stream)
	require.Equal(p.t, "200", p.fields[":status"])
	require.Equal(p.t, "application/grpc", p.fields["content-type"])
	require.Zero(p.t, f.flags&flagEndStream, "%v", p.fields)
	var body []byte
	for {
		f = p.next()
		require.Equal(p.t, stream, f.stream)
		if f.kind == frameHeaders {
			break
		}
		require.Equal(p.t, byte(frameData), f.kind)
		body = append(body, f.payload...)
	}
	require.NotZero(p.t, f.flags&flagEndStream)
	require.Equal(p.t, "0", p.fields["grpc-status"])
	require.GreaterOrEqual(p.t, len(body), prefixSize)
	require.Zero(p.t, body[0])
	require.EqualValues(p.t, len(body)-prefixSize, binary.BigEndian.Uint32(body[1:]))
	return body[prefixSize:]
}

// failure returns the grpc-status and the grpc-message that answer a call.
func (p *peer) failure(stream uint32) (code, text string) {
	f := p.nextOf(frameHeaders)
	require.Equal(p.t, stream, f.stream)
	require.NotZero(p.t, f.flags&flagEndStream)
	return p.fields["grpc-status"], p.fields["grpc-message"]
}

// expectReset requires RST_STREAM as the next frame, but for WINDOW_UPDATE.
func (p *peer) expectReset(stream uint32, code errorCode) {
	f := p.next()
	if f.kind == frameWindowUpdate {
		f = p.next()
	}
	require.Equal(p.t, byte(frameRSTStream), f.kind)
	require.Equal(p.t, stream, f.stream)
	require.Equal(p.t, code, errorCode(binary.BigEndian.Uint32(f.payload)))
}

// expectGoAway requires GOAWAY and the end of the connection, and returns what Serve has returned.
func (p *peer) expectGoAway(code errorCode) error {
	f := p.nextOf(frameGoAway)
	require.Equal(p.t, code, errorCode(binary.BigEndian.Uint32(f.payload[4:])), "%s", f.payload[8:])
	return p.expectEnd()
}

// expectEnd requires the end of the connection, and returns what Serve has returned.
func (p *peer) expectEnd() error {
	err := <-p.done
	p.done <- err
	return err
}

// expectAlive requires that a PING is answered next.
func (p *peer) expectAlive() {
	p.send(makeFrame(framePing, 0, 0, []byte("are you?")))
	f := p.next()
	require.Equal(p.t, byte(framePing), f.kind)
	require.Equal(p.t, "are you?", string(f.payload))
}

// codes returns the overall code of a RateLimitResponse and those of its statuses.
func codes(t testing.TB, b []byte) (overall uint64, statuses []uint64) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		b = b[n:]
		switch num {
		case 1:
			overall, n = protowire.ConsumeVarint(b)
		case 2:
			var status []byte
			status, n = protowire.ConsumeBytes(b)
			require.True(t, strings.HasPrefix(string(status), "\x08"))
			statuses = append(statuses, uint64(status[1]))
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		require.Positive(t, n)
		b = b[n:]
	}
	return overall, statuses
}

// codeOf returns the code of the GOAWAY that an error stands for.
func codeOf(t testing.TB, err error) errorCode {
	var cerr *connError
	require.ErrorAs(t, err, &cerr)
	return cerr.code
}
