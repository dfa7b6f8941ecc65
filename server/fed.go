package server

import (
	"net"
	"sync"
	"time"
)

// fedBytes is how much a fed reads, and takes to write, at once.
const fedBytes = 16 << 10

// A fed is the transport of a connection whose reads and writes block: two goroutines make them. It serves
// sockets of systems whose poller is not known here, and any other net.Conn.
type fed struct {
	nc      net.Conn
	mu      sync.Mutex
	changed sync.Cond
	ready   func() // protected by mu, as are the fields below; nil before attach
	in      []byte // was read
	inErr   error  // what the last read returned
	out     []byte // to be written
	outErr  error  // what the last write returned
	closed  bool
}

func newFed(nc net.Conn) *fed {
	f := &fed{nc: nc}
	f.changed.L = &f.mu
	return f
}

func (f *fed) attach(l *loop, token int32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = l.memory(token)
	go f.read()
	go f.write()
	return nil
}

// read reads when everything before has been taken.
func (f *fed) read() {
	buf := make([]byte, fedBytes)
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.inErr == nil && !f.closed {
		f.mu.Unlock()
		n, err := f.nc.Read(buf)
		f.mu.Lock()
		f.in, f.inErr = buf[:n], err
		f.ready()
		for len(f.in) > 0 && !f.closed {
			f.changed.Wait()
		}
	}
}

// write writes what writeSome has taken.
func (f *fed) write() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(f.out) == 0 && !f.closed {
			f.changed.Wait()
		}
		if f.closed {
			return
		}
		b := f.out
		f.mu.Unlock()
		n, err := f.nc.Write(b)
		f.mu.Lock()
		if f.out = f.out[n:]; err != nil {
			f.out, f.outErr = nil, err
		}
		f.ready()
	}
}

func (f *fed) readSome(b []byte) (n int, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, false, net.ErrClosed
	}
	n = copy(b, f.in)
	if f.in = f.in[n:]; n > 0 {
		f.changed.Broadcast()
		return n, true, nil
	}
	return 0, false, f.inErr
}

func (f *fed) writeSome(b []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return 0, net.ErrClosed
	case f.outErr != nil:
		return 0, f.outErr
	case len(f.out) > 0 || len(b) == 0:
		return 0, nil
	}
	f.out = append(f.out, b[:min(len(b), fedBytes)]...)
	f.changed.Broadcast()
	return len(f.out), nil
}

func (f *fed) unsent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.out)
}

func (f *fed) hasUnread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.in) > 0
}

func (f *fed) closeWrite() error { return closeWrite(f.nc) }

func (f *fed) shutdown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.nc.Close()
	f.changed.Broadcast()
	if f.ready != nil {
		f.ready()
	}
}

func (f *fed) close() { f.shutdown() }

func (f *fed) keepAlive(d time.Duration) {
	if tcp, ok := f.nc.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{ // as a socket's
			Enable: d > 0, Idle: d, Interval: max((d / 3).Truncate(time.Second), time.Second), Count: 3,
		})
	}
}
