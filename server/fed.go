package server

import (
	"net"
	"sync"
	"time"
)

const (
	// fedRead is how much a fed reads at once.
	fedRead = 16 << 10
	// fedWrite is how much it takes to write beside what it writes, like a socket's buffer.
	fedWrite = 64 << 10
)

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
	writing []byte // being written
	outErr  error  // what the last write returned
	last    func() // called when out is written, if it is not nil
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
	if f.ready = l.memory(token); f.closed { // shutdown had nobody to tell
		f.ready()
	}
	go f.read()
	go f.write()
	return nil
}

// read reads when everything before has been taken.
func (f *fed) read() {
	buf := make([]byte, fedRead)
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
		f.out, f.writing = f.writing[:0], f.out
		f.mu.Unlock()
		_, err := f.nc.Write(f.writing)
		f.mu.Lock()
		f.writing = f.writing[:0]
		if err != nil {
			f.out, f.outErr = nil, err
		}
		if f.last != nil && len(f.out) == 0 {
			f.last()
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
	}
	if n = min(len(b), fedWrite-len(f.out)); n > 0 {
		f.out = append(f.out, b[:n]...)
		f.changed.Broadcast()
	}
	return n, nil
}

// unsent returns 0: what a goroutine writes is on its way, as in a socket's buffer.
func (f *fed) unsent() int { return 0 }

// afterwards calls fn when everything is written.
func (f *fed) afterwards(fn func()) {
	if f.last = fn; len(f.out)+len(f.writing) == 0 {
		fn()
	}
}

func (f *fed) hasUnread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.in) > 0
}

func (f *fed) closeWrite() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.nc.(interface{ CloseWrite() error }); !ok {
		return closeWrite(f.nc)
	}
	f.afterwards(func() { err = closeWrite(f.nc) })
	return err
}

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

// close closes the connection once everything is written, which a client that does not read prevents for a
// while only.
func (f *fed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.nc.SetWriteDeadline(time.Now().Add(lingerTimeout)) // if it fails, so does writing
	f.afterwards(func() {
		f.closed = true
		f.nc.Close()
		f.changed.Broadcast()
	})
}

func (f *fed) keepAlive(d time.Duration) {
	if tcp, ok := f.nc.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{ // as a socket's
			Enable: d > 0, Idle: d, Interval: max((d / 3).Truncate(time.Second), time.Second), Count: 3,
		})
	}
}
