package server

import (
	"errors"
	"io"

	"github.com/zlimit/zlimit/resp"
)

// A part is one element of the pump's queue: bytes, or a reply that is yet to be
// made.
type part struct {
	bytes  []byte
	block  []byte // holds bytes, freed after them; nil if bytes is not part of one
	stream io.WriterTo
}

// stream sends the collected replies, and queues a reply that the pump makes and
// sends behind them. It reports whether the connection stays open.
func (o *output) stream(s io.WriterTo) bool {
	if !o.flushDurable() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed {
		return false
	}
	o.sent = false
	if blocks, ok := s.(*resp.Blocks); ok {
		o.sendBlocks(blocks)
		return !o.failed
	}
	o.queue = append(o.queue, part{stream: s})
	o.startPump()
	return true
}

// sendBlocks sends a reply that is encoded already, as flush does. It requires that mu is held.
func (o *output) sendBlocks(blocks *resp.Blocks) {
	for block := blocks.Next(); block != nil; block = blocks.Next() {
		rest := block
		if !o.pumping && !o.failed && len(o.queue) == 0 {
			n, err := o.writeNow(block)
			o.wrote(n)
			rest = block[n:]
			o.failed = err != nil
			o.sent = len(rest) == 0 && !o.failed
		}
		switch {
		case o.failed:
			blocks.Free()
			return
		case len(rest) == 0 && (o.tls == nil || o.tls.unsent() == 0):
			resp.FreeBlock(block)
		default:
			o.queue = append(o.queue, part{bytes: rest, block: block})
			o.queuedBytes += len(rest)
		}
	}
	if len(o.queue) > 0 {
		o.sent = false
		o.reportQueued()
		o.startPump()
		o.enforceLimit()
	}
}

// flushDurable is like flush, but if there are no collected replies it still waits
// until a reply may be sent.
func (o *output) flushDurable() bool {
	if len(o.buf) > 0 {
		return o.flush()
	}
	if o.waitDurable() == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail()
	return false
}

// sendStream makes a reply and sends it. Only the pump calls it. It requires that
// mu is held, and releases it meanwhile. If the reply fails halfway, the connection
// is aborted: it cannot be completed.
func (o *output) sendStream(s io.WriterTo) {
	o.mu.Unlock()
	err := o.writeStream(s)
	o.mu.Lock()
	if err != nil && !o.failed {
		o.fail()
	}
}

var errPanicked = errors.New("panic")

// writeStream writes a reply to the client. A panic ends that client only.
func (o *output) writeStream(s io.WriterTo) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errPanicked
			o.owner.logPanic(p)
		}
	}()
	_, err = s.WriteTo(pumpWriter{o})
	return err
}

// A pumpWriter is the connection as the pump writes streams to it.
type pumpWriter struct{ *output }

var errAborted = errors.New("connection aborted")

func (p pumpWriter) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(b)
	if p.failed {
		return 0, errAborted
	}
	return len(b), nil
}
