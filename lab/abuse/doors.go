package abuse

import (
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

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
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

// A doorPeer is a connection to rl-grpc-addr, whose frames it writes itself.
type doorPeer struct {
	net.Conn
	out    bytes.Buffer
	framer *http2.Framer
	next   uint32
	block  []byte // the headers of a call
}

func (t *Target) dialDoor() (*doorPeer, error) {
	if t.GRPCAddr == "" {
		return nil, errors.New("no port for gRPC")
	}
	nc, err := net.DialTimeout("tcp", t.GRPCAddr, ioTimeout)
	if err != nil {
		return nil, err
	}
	p := &doorPeer{Conn: nc, next: 1}
	p.framer = http2.NewFramer(&p.out, nc)
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	e.SetMaxDynamicTableSize(0)
	for _, f := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
		{":authority", "abuse"},
		{"content-type", "application/grpc"},
	} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return nil, err
		}
	}
	p.block = block.Bytes()
	p.out.WriteString(http2.ClientPreface)
	return p, errors.Join(p.framer.WriteSettings(), p.framer.WriteWindowUpdate(0, 1<<30), p.flush())
}

// begin writes the headers of a call and returns its stream.
func (p *doorPeer) begin() uint32 {
	id := p.next
	p.next += 2
	_ = p.framer.WriteHeaders(http2.HeadersFrameParam{ // to memory
		StreamID: id, BlockFragment: p.block, EndHeaders: true,
	})
	return id
}

// flush sends what was written.
func (p *doorPeer) flush() error {
	p.SetDeadline(time.Now().Add(ioTimeout))
	_, err := p.Write(p.out.Bytes())
	p.out.Reset()
	return err
}

// hungUp reads until the server hangs up, and returns an error if that is not because of a flood. What the
// server has not read by then makes TCP reset the connection, which may overtake the reason.
func (p *doorPeer) hungUp() error {
	for {
		f, err := p.framer.ReadFrame()
		switch {
		case errors.Is(err, syscall.ECONNRESET):
			return nil
		case err != nil:
			return fmt.Errorf("no GOAWAY: %w", err)
		}
		if away, ok := f.(*http2.GoAwayFrame); ok && away.ErrCode == http2.ErrCodeEnhanceYourCalm {
			return nil
		}
	}
}

// message is a request about one address.
func message(ip string) []byte {
	field := func(b []byte, number protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
	}
	entry := field(field(nil, 1, []byte("ip")), 2, []byte(ip))
	m := field(field(nil, 1, []byte("edge")), 2, field(nil, 1, entry))
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

// doorFloods sends frames that ask for no decision, until the server hangs up as it must: calls that are
// reset at once, settings, pings, and bodies of empty frames.
func doorFloods(ctx context.Context, t *Target) error {
	floods := []func(p *doorPeer) error{
		func(p *doorPeer) error { return p.framer.WriteRSTStream(p.begin(), http2.ErrCodeCancel) },
		func(p *doorPeer) error { return p.framer.WriteSettings() },
		func(p *doorPeer) error { return p.framer.WritePing(false, [8]byte{}) },
		func(p *doorPeer) error { return p.framer.WriteWindowUpdate(0, 1) },
	}
	return t.rounds(ctx, func(int) error {
		return together(len(floods), func(i int) error {
			p, err := t.dialDoor()
			if err != nil {
				return err
			}
			defer p.Close()
			for range 5000 {
				if err := floods[i](p); err != nil {
					return err
				}
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
		return &slowBody{p, binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))}, p.flush()
	}
	overHTTP := func() (io.WriteCloser, error) {
		nc, err := net.DialTimeout("tcp", t.HTTPAddr, ioTimeout)
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintf(nc, "POST /v1/check HTTP/1.1\r\nHost: abuse\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n", len(body))
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
	err := errors.Join(b.framer.WriteData(1, false, append(b.prefix, p...)), b.flush())
	b.prefix = nil
	return len(p), err
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
				if err := p.framer.WriteData(p.begin(), true, m); err != nil {
					return err
				}
			}
			if err := p.flush(); err != nil {
				return err
			}
			for answered := 0; answered < calls; {
				f, err := p.framer.ReadFrame()
				if err != nil {
					return err
				}
				switch f := f.(type) {
				case *http2.HeadersFrame:
					if f.StreamEnded() {
						answered++
					}
				case *http2.RSTStreamFrame, *http2.GoAwayFrame:
					return fmt.Errorf("a call was not answered: %v", f)
				}
			}
			return nil
		})
	})
}
