package server

import (
	"errors"
	"io"

	"github.com/zlimit/zlimit/resp"
)

// A part is one element of an output's queue: bytes, or a reply that is yet to be
// made.
type part struct {
	bytes  []byte
	block  []byte // holds bytes, freed after them; nil if bytes is not part of one
	stream io.WriterTo
}

func (p *part) free() {
	if p.block != nil {
		resp.FreeBlock(p.block)
	}
}

// stream sends the collected replies, and behind them one that is in blocks, or that a goroutine makes while
// it is sent. It reports whether the connection stays open.
func (o *output) stream(s io.WriterTo) bool {
	if !o.flush() {
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
	q := o.queue()
	q.parts = append(q.parts, part{stream: s})
	if !o.waits.Swap(true) {
		o.advance()
	}
	return true
}

// sendBlocks sends a reply that is encoded already, as flush does. It requires mu.
func (o *output) sendBlocks(blocks *resp.Blocks) {
	for block := blocks.Next(); block != nil; block = blocks.Next() {
		rest := o.write(block)
		switch {
		case o.failed:
			blocks.Free()
			return
		case len(rest) == 0 && o.transport.unsent() == 0:
			resp.FreeBlock(block)
			o.sent = true
		default:
			q := o.queue()
			q.parts = append(q.parts, part{bytes: rest, block: block})
			q.bytes += len(rest)
			o.waits.Store(true)
		}
	}
	if o.waits.Load() {
		o.sent = false
		o.reportQueued()
		o.enforceLimit()
	}
}

// startStream makes a goroutine make and send head. It requires mu.
func (o *output) startStream() {
	o.queued.streaming = true
	s := o.queued.head.stream
	o.owner.server.wg.Go(func() { o.runStream(s) })
}

// runStream makes a reply and sends it. If the reply fails halfway, the connection
// is aborted: it cannot be completed.
func (o *output) runStream(s io.WriterTo) {
	err := o.writeStream(s)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queued.streaming = false
	if err != nil && !o.failed {
		o.fail()
	}
	o.advance()
	o.owner.wake() // more may be left, and it may be waited for
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
	_, err = s.WriteTo(streamWriter{o})
	return err
}

// A streamWriter is the connection as streams are written to it.
type streamWriter struct{ *output }

var errAborted = errors.New("connection aborted")

// Write blocks until b is sent.
func (w streamWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queued
	q.head.bytes = b
	q.bytes += len(b)
	w.advance()
	for !w.failed && (len(q.head.bytes) > 0 || w.transport.unsent() > 0) {
		q.changed.Wait()
	}
	if w.failed {
		return 0, errAborted
	}
	return len(b), nil
}
