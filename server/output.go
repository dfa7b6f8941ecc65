package server

import (
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/config"
)

// An output sends replies without ever making the connection wait for a client
// that does not read: what the socket does not take at once is kept and sent
// by a goroutine of its own, and the connection goes on reading. A client may
// then send a pipeline of a million commands before it reads the first reply,
// as it may with Redis; how much is kept for it is bounded by
// client-output-buffer-limit.
//
// buf and flush belong to the connection's goroutine.
type output struct {
	nc  net.Conn
	raw syscall.RawConn // nil where the socket can only be written to by waiting
	buf []byte          // replies of the batch under way

	mu      sync.Mutex
	kept    []byte     // protected by mu: what the socket did not take, in order
	pumping bool       // protected by mu: the goroutine runs
	drained *sync.Cond // signalled when pumping ends
	failed  bool       // protected by mu: the client is gone
	over    time.Time  // since when kept is above the soft limit; zero: it is not
}

func (o *output) append(b []byte) { o.buf = append(o.buf, b...) }

// flush sends what was collected. It reports whether the connection can go on:
// not if the client is gone, or leaves more unread than limit allows.
func (o *output) flush(limit config.OutputBufferLimit) bool {
	if len(o.buf) == 0 {
		return true
	}
	rest := o.buf
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.pumping && !o.failed {
		n, err := o.writeNow(rest)
		rest = rest[n:]
		o.failed = err != nil
	}
	if len(rest) > 0 && !o.failed {
		o.kept = append(o.kept, rest...)
		if !o.pumping {
			o.pumping = true
			if o.drained == nil {
				o.drained = sync.NewCond(&o.mu)
			}
			go o.pump()
		}
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > keptOutput {
		o.buf = nil
	}
	if !o.failed && o.tooMuch(limit) {
		o.failed = true
		o.nc.Close()
	}
	return !o.failed
}

// writeNow writes what the socket takes without waiting.
func (o *output) writeNow(b []byte) (n int, err error) {
	if o.raw == nil {
		return 0, nil
	}
	return writeSome(o.raw, b)
}

// pump sends what is kept, waiting for the client as long as it takes.
func (o *output) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.kept) > 0 && !o.failed {
		sending := o.kept
		o.kept = nil
		o.mu.Unlock()
		_, err := o.nc.Write(sending)
		o.mu.Lock()
		if err != nil {
			o.failed = true
			o.nc.Close() // the reading side must notice
		}
	}
	o.kept, o.pumping, o.over = nil, false, time.Time{}
	o.drained.Broadcast()
}

// tooMuch reports whether what is kept breaks a limit. It requires mu.
func (o *output) tooMuch(limit config.OutputBufferLimit) bool {
	kept := int64(len(o.kept))
	if limit.HardBytes > 0 && kept > limit.HardBytes {
		return true
	}
	if limit.SoftBytes <= 0 || kept <= limit.SoftBytes {
		o.over = time.Time{}
		return false
	}
	now := time.Now()
	if o.over.IsZero() {
		o.over = now
	}
	return now.Sub(o.over) > time.Duration(limit.SoftSeconds)*time.Second
}

// waiting returns the bytes that the client has not taken yet.
func (o *output) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.kept)
}

// last sends what was collected and waits, within a limit, until the client
// has taken everything.
func (o *output) last(within time.Duration) {
	o.nc.SetWriteDeadline(time.Now().Add(within))
	o.flush(config.OutputBufferLimit{})
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.pumping {
		o.drained.Wait()
	}
}
