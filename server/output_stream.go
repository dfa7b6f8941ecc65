package server

import (
	"errors"
	"io"
	"runtime/debug"
)

// A part is what the pump sends in one go: bytes, or a reply that is yet to be
// made.
type part struct {
	bytes  []byte
	stream io.WriterTo
}

// stream sends what was collected, and lets the pump make and send a reply behind
// it. It reports whether the connection can go on, as flush does.
func (o *output) stream(s io.WriterTo) bool {
	if !o.flushed() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed {
		return false
	}
	o.sent = false
	o.kept = append(o.kept, part{stream: s})
	o.startPump()
	return true
}

// flushed is flush that waits for what the replies depend on even where none was
// collected.
func (o *output) flushed() bool {
	if len(o.buf) > 0 {
		return o.flush()
	}
	if o.settle == nil || o.settle() == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail()
	return false
}

// sendStream makes a reply and sends it. It is the pump's, and requires mu, which
// it leaves meanwhile. A reply that breaks off cannot be mended: the client is
// given up.
func (o *output) sendStream(s io.WriterTo) {
	o.mu.Unlock()
	err := o.writeStream(s)
	o.mu.Lock()
	if err != nil && !o.failed {
		o.fail()
	}
}

var errPanicked = errors.New("panic")

// writeStream writes a reply to the client. What panics ends that client only.
func (o *output) writeStream(s io.WriterTo) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = errPanicked; o.complain != nil {
				o.complain("panic: %v\n%s", p, debug.Stack())
			}
		}
	}()
	_, err = s.WriteTo(pumped{o})
	return err
}

// pumped is the client as the pump writes to it.
type pumped struct{ *output }

var errGivenUp = errors.New("the client was given up")

func (p pumped) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(b)
	if p.failed {
		return 0, errGivenUp
	}
	return len(b), nil
}
