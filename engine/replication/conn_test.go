package replication

import (
	"bytes"
	"io"
	"sync"
)

// A pipe is one direction of a connection in memory. Each write is one read, unless the reader's buffer
// is smaller.
type pipe struct {
	mu     sync.Mutex
	cond   *sync.Cond
	pieces [][]byte
	left   int // how many bytes it carries until the connection is cut; -1: no limit
	full   int // how many bytes a writer may be ahead; 0: no limit
	held   int
	closed bool
	cut    func()
}

func newPipe() *pipe {
	p := &pipe{left: -1}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.full > 0 && p.held >= p.full && !p.closed {
		p.cond.Wait()
	}
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	cut := p.left >= 0 && len(b) >= p.left
	if cut {
		b = b[:p.left]
	}
	if p.left >= 0 {
		p.left -= len(b)
	}
	if len(b) > 0 {
		p.pieces, p.held = append(p.pieces, bytes.Clone(b)), p.held+len(b)
	}
	p.cond.Broadcast()
	if cut {
		p.closed = true
		p.cut()
		return len(b), io.ErrClosedPipe
	}
	return len(b), nil
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pieces) == 0 && !p.closed {
		p.cond.Wait()
	}
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	p.held -= n
	p.cond.Broadcast()
	if p.pieces[0] = p.pieces[0][n:]; len(p.pieces[0]) == 0 {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

// shut closes the pipe; what was written may still be read, unless it is discarded.
func (p *pipe) shut(discard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if discard {
		p.pieces, p.held = nil, 0
	}
	p.cond.Broadcast()
}

// A conn is one end of a connection in memory.
type conn struct{ in, out *pipe }

// connect returns the two ends of a connection.
func connect() (replica, master conn) {
	toMaster, toReplica := newPipe(), newPipe()
	toMaster.cut = func() { toReplica.shut(false) }
	toReplica.cut = func() { toMaster.shut(false) }
	return conn{toReplica, toMaster}, conn{toMaster, toReplica}
}

func (c conn) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c conn) Write(b []byte) (int, error) { return c.out.Write(b) }

func (c conn) Close() error {
	c.in.shut(true)
	c.out.shut(false)
	return nil
}
