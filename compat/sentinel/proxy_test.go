package sentinel

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy is the address by which sentinels, replicas and clients of a set know a server. While it is cut
// it carries nothing either way and closes nothing, as a network that loses packets.
type proxy struct {
	port, to int

	mu    sync.Mutex // protects the fields below
	gate  chan struct{}
	conns []net.Conn
}

// startProxy starts a proxy to a port.
func startProxy(t *testing.T, to int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{port: l.Addr().(*net.TCPAddr).Port, to: to, gate: make(chan struct{})}
	p.heal()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.carry(in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.heal()
		running.Wait()
	})
	return p
}

// cut stops the proxy from carrying anything.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// heal lets the proxy carry what has been kept back.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// pass waits while the proxy is cut.
func (p *proxy) pass() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	<-gate
}

// keep notes a connection to close in the end.
func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

// carry copies both ways until one side ends.
func (p *proxy) carry(in net.Conn) {
	p.keep(in)
	defer in.Close()
	p.pass()
	out, err := net.Dial("tcp4", addr(p.to))
	if err != nil {
		return
	}
	p.keep(out)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			defer way[1].Close()
			defer way[0].Close()
			p.copy(way[1], way[0])
		})
	}
	both.Wait()
}

func (p *proxy) copy(to io.Writer, from io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.pass()
		if _, werr := to.Write(b[:n]); werr != nil || err != nil {
			return
		}
	}
}
