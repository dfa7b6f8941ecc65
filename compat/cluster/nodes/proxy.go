package nodes

import (
	"io"
	"net"
	"sync"
)

// nodeSource is the address from which nodes connect to each other. Everybody else comes from
// 127.0.0.1.
const nodeSource = "127.0.0.2"

// A Proxy is the address by which clients, and replicas, know a node. While it is cut it carries
// nothing between clients and the node and closes nothing, as a network that loses packets;
// replicas still reach their master.
type Proxy struct {
	Port int

	to       int
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex // protects the fields below
	gate  chan struct{}
	conns []net.Conn
}

// startProxy starts a proxy to a port.
func startProxy(to int) (*Proxy, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Port: l.Addr().(*net.TCPAddr).Port, to: to, listener: l, gate: make(chan struct{})}
	p.Heal()
	p.running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.carry(in) })
		}
	})
	return p, nil
}

// close ends all connections.
func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.Heal()
	p.running.Wait()
}

// Cut stops the proxy from carrying anything of clients.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// Heal lets the proxy carry what has been kept back.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// pass waits while the proxy is cut.
func (p *Proxy) pass() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	<-gate
}

// keep notes a connection to close in the end.
func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

// carry copies both ways until one side ends.
func (p *Proxy) carry(in net.Conn) {
	p.keep(in)
	defer in.Close()
	pass := p.pass
	if in.RemoteAddr().(*net.TCPAddr).IP.String() == nodeSource {
		pass = func() {}
	}
	pass()
	out, err := net.Dial("tcp4", Addr(p.to))
	if err != nil {
		return
	}
	p.keep(out)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			defer way[1].Close()
			defer way[0].Close()
			carryOneWay(way[1], way[0], pass)
		})
	}
	both.Wait()
}

func carryOneWay(to io.Writer, from io.Reader, pass func()) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		pass()
		if _, werr := to.Write(b[:n]); werr != nil || err != nil {
			return
		}
	}
}
