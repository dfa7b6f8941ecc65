package abuse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const doorPolicies = `domain: edge
descriptors:
  - key: ip
    rate_limit: {unit: hour, requests_per_unit: 1000000}
`

// DoorDirectives writes a file of policies to dir and returns the directives that open both doors at these
// addresses.
func DoorDirectives(dir, grpcAddr, httpAddr string) ([]string, error) {
	file := filepath.Join(dir, "policies.yaml")
	return []string{
		"--rl-policies", file, "--rl-grpc-addr", grpcAddr, "--rl-http-addr", httpAddr,
	}, os.WriteFile(file, []byte(doorPolicies), 0o600)
}

// Frames of HTTP/2, and the flags of those with a header block or DATA.
const (
	frameData         = 0
	frameHeaders      = 1
	frameRSTStream    = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8

	flagEndStream  = 1
	flagEndHeaders = 4

	codeCancel               = 8
	codeEnhanceYourCalm      = 11
	connectionPreface        = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeaderSize          = 9
	notIndexed               = 0 // before a name and a value of HPACK
	lengthDelimited     byte = 2 // the wire type of protobuf
)

// A doorPeer is a connection to rl-grpc-addr, whose frames it writes itself.
type doorPeer struct {
	net.Conn
	r    *bufio.Reader
	out  []byte
	next uint32
}

func (t *Target) dialDoor() (*doorPeer, error) {
	if t.GRPCAddr == "" {
		return nil, errors.New("no port for gRPC")
	}
	nc, err := net.DialTimeout("tcp", t.GRPCAddr, ioTimeout)
	if err != nil {
		return nil, err
	}
	p := &doorPeer{Conn: nc, r: bufio.NewReader(nc), next: 1, out: []byte(connectionPreface)}
	p.write(frameSettings, 0, 0, nil)
	p.write(frameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<30))
	return p, p.flush()
}

// write appends a frame to what flush sends.
func (p *doorPeer) write(kind, flags byte, stream uint32, payload []byte) {
	size := len(payload)
	p.out = append(p.out, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	p.out = append(binary.BigEndian.AppendUint32(p.out, stream), payload...)
}

// begin writes the headers of a call and returns its stream.
func (p *doorPeer) begin() uint32 {
	id := p.next
	p.next += 2
	var block []byte
	for _, text := range []string{
		":method", "POST", ":scheme", "http",
		":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
		":authority", "abuse", "content-type", "application/grpc",
	} {
		if text[0] == ':' || text == "content-type" {
			block = append(block, notIndexed)
		}
		block = append(append(block, byte(len(text))), text...)
	}
	p.write(frameHeaders, flagEndHeaders, id, block)
	return id
}

// flush sends what was written.
func (p *doorPeer) flush() error {
	p.SetDeadline(time.Now().Add(ioTimeout))
	_, err := p.Write(p.out)
	p.out = p.out[:0]
	return err
}

// read returns the next frame.
func (p *doorPeer) read() (kind, flags byte, payload []byte, err error) {
	var h [frameHeaderSize]byte
	if _, err = io.ReadFull(p.r, h[:]); err != nil {
		return 0, 0, nil, err
	}
	payload = make([]byte, int(h[0])<<16|int(h[1])<<8|int(h[2]))
	_, err = io.ReadFull(p.r, payload)
	return h[3], h[4], payload, err
}

// hungUp reads until the server hangs up, and returns an error if that is not because of a flood. What the
// server has not read by then makes TCP reset the connection, which may overtake the reason.
func (p *doorPeer) hungUp() error {
	for {
		kind, _, payload, err := p.read()
		switch {
		case errors.Is(err, syscall.ECONNRESET):
			return nil
		case err != nil:
			return fmt.Errorf("no GOAWAY: %w", err)
		case kind == frameGoAway && binary.BigEndian.Uint32(payload[4:]) == codeEnhanceYourCalm:
			return nil
		}
	}
}

// prefixed returns a message behind its prefix.
func prefixed(m []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

// message is a request about one address.
func message(ip string) []byte {
	field := func(number byte, v []byte) []byte {
		return append([]byte{number<<3 | lengthDelimited, byte(len(v))}, v...)
	}
	entry := append(field(1, []byte("ip")), field(2, []byte(ip))...)
	return prefixed(append(field(1, []byte("edge")), field(2, field(1, entry))...))
}

// doorFloods sends frames that ask for no decision, until the server hangs up as it must: calls that are
// reset at once, settings, pings, and bodies of empty frames.
func doorFloods(ctx context.Context, t *Target) error {
	floods := []func(p *doorPeer){
		func(p *doorPeer) {
			p.write(frameRSTStream, 0, p.begin(), binary.BigEndian.AppendUint32(nil, codeCancel))
		},
		func(p *doorPeer) { p.write(frameSettings, 0, 0, nil) },
		func(p *doorPeer) { p.write(framePing, 0, 0, make([]byte, 8)) },
		func(p *doorPeer) { p.write(frameWindowUpdate, 0, 0, []byte{0, 0, 0, 1}) },
	}
	return t.rounds(ctx, func(int) error {
		return together(len(floods), func(i int) error {
			p, err := t.dialDoor()
			if err != nil {
				return err
			}
			defer p.Close()
			for range 5000 {
				floods[i](p)
			}
			_ = p.flush() // the server may have hung up
			return p.hungUp()
		})
	})
}

// doorSlow has bodies arrive a byte at a time, over both doors. Connections that were cut are opened again.
func doorSlow(ctx context.Context, t *Target) error {
	if t.HTTPAddr == "" {
		return errors.New("no port for HTTP")
	}
	body := bytes.Repeat([]byte("x"), 60_000)
	overGRPC := func() (io.WriteCloser, error) {
		p, err := t.dialDoor()
		if err != nil {
			return nil, err
		}
		p.begin()
		return &slowBody{p, prefixed(body)[:5]}, p.flush()
	}
	overHTTP := func() (io.WriteCloser, error) {
		nc, err := net.DialTimeout("tcp", t.HTTPAddr, ioTimeout)
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintf(nc, "POST /v1/check HTTP/1.1\r\nHost: abuse\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
		return nc, err
	}
	all := make([]io.WriteCloser, max(t.Size/50, 2))
	defer func() {
		for _, c := range all {
			if c != nil {
				c.Close()
			}
		}
	}()
	return t.rounds(ctx, func(int) error {
		for i, c := range all {
			if c != nil {
				if _, err := c.Write(body[:1]); err == nil {
					continue
				}
				c.Close()
			}
			open := overGRPC
			if i%2 == 1 {
				open = overHTTP
			}
			opened, err := open()
			if err != nil {
				return err
			}
			all[i] = opened
		}
		return pause(ctx, t, 100*time.Millisecond)
	})
}

// A slowBody writes DATA of the first call of a peer, behind the prefix of its message.
type slowBody struct {
	*doorPeer
	prefix []byte // until it was written
}

// Write implements io.Writer.
func (b *slowBody) Write(p []byte) (int, error) {
	b.write(frameData, 0, 1, append(b.prefix, p...))
	b.prefix = nil
	return len(p), b.flush()
}

// doorCalls asks for decisions over 16 connections, 100 at a time on each.
func doorCalls(ctx context.Context, t *Target) error {
	return together(16, func(i int) error {
		p, err := t.dialDoor()
		if err != nil {
			return err
		}
		defer p.Close()
		m := message(fmt.Sprint("10.0.0.", i))
		return t.rounds(ctx, func(int) error {
			const calls = 100
			for range calls {
				p.write(frameData, flagEndStream, p.begin(), m)
			}
			if err := p.flush(); err != nil {
				return err
			}
			for answered := 0; answered < calls; {
				kind, flags, _, err := p.read()
				switch {
				case err != nil:
					return err
				case kind == frameRSTStream || kind == frameGoAway:
					return fmt.Errorf("a call was not answered: frame %d", kind)
				case kind == frameHeaders && flags&flagEndStream != 0:
					answered++
				}
			}
			return nil
		})
	})
}
