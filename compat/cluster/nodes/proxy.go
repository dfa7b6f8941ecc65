package nodes

import (
	"io"
	"net"
	"sync"
)

// nodeSource is the address from which nodes connect to each other. Everybody else comes from
// 127.0.0.1.
const nodeSource = "127.0.0.2"

// A Proxy is the address by which clients, and replicas, know a node. While it is cut for either it carries
// nothing between them and the node and closes nothing, as a network that loses packets.
type Proxy struct {
	Port int

	to       int
	listener net.Listener
	running  sync.WaitGroup

	clients, replicas side
}

// A side is who connects through a proxy.
type side struct {
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
	p := &Proxy{Port: l.Addr().(*net.TCPAddr).Port, to: to, listener: l}
	for _, s := range []*side{&p.clients, &p.replicas} {
		s.cut()
		s.heal()
	}
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
	p.clients.drop()
	p.replicas.drop()
	p.running.Wait()
}

// Cut stops the proxy from carrying anything of clients.
func (p *Proxy) Cut() { p.clients.cut() }

// Heal lets the proxy carry what has been kept back of clients.
func (p *Proxy) Heal() { p.clients.heal() }

// CutReplicas stops the proxy from carrying anything of replicas.
func (p *Proxy) CutReplicas() { p.replicas.cut() }

// DropReplicas closes the connections of replicas, and what has been kept back of them is lost. New ones are
// carried.
func (p *Proxy) DropReplicas() { p.replicas.drop() }

func (s *side) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *side) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
}

func (s *side) drop() {
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.heal()
}

// pass waits while the proxy is cut.
func (s *side) pass() {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	<-gate
}

// keep notes a connection to close in the end.
func (s *side) keep(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
}

// carry copies both ways until one side ends.
func (p *Proxy) carry(in net.Conn) {
	s := &p.clients
	if in.RemoteAddr().(*net.TCPAddr).IP.String() == nodeSource {
		s = &p.replicas
	}
	s.keep(in)
	defer in.Close()
	s.pass()
	out, err := net.Dial("tcp4", Addr(p.to))
	if err != nil {
		return
	}
	s.keep(out)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			defer way[1].Close()
			defer way[0].Close()
			carryOneWay(way[1], way[0], s.pass)
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
