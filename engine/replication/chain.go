package replication

import (
	"errors"
	"slices"
	"sync"
)

// blockSize is the size of the blocks that bytes are kept in.
const blockSize = 32 << 10

// A block holds consecutive bytes. Bytes that were appended do not change, so that they may be read
// without the lock.
type block struct {
	at   int64 // offset of its first byte
	data []byte
	next *block
	kept bool // not reused: the owner of a closed reader may still read its data
}

// A chain is a sequence of bytes with one writer and any number of readers at different places. What
// neither a reader nor keep refers to is garbage.
type chain struct {
	mu      sync.Mutex
	last    *block // never nil once the chain was started; protected by mu, as are the fields below
	end     int64  // offset behind the last byte
	readers []*Reader
	ended   error         // no more bytes will come; nil: they may
	room    chan struct{} // of one element, sent to when a reader has read or is gone; nil: nobody waits

	spares spares
}

// spares are blocks that every reader has left, if those are used again. Nothing but readers may refer to
// blocks then, and none may be opened once one has left a block.
type spares struct {
	reuses bool
	blocks []*block
}

// put keeps a block for take, unless its data may still be read.
func (s *spares) put(b *block) {
	if s.reuses && !b.kept && cap(b.data) >= blockSize {
		s.blocks = append(s.blocks, b)
	}
}

// take returns an empty block for the bytes from an offset on.
func (s *spares) take(at int64) *block {
	n := len(s.blocks) - 1
	if n < 0 {
		return &block{at: at, data: make([]byte, 0, blockSize)}
	}
	b := s.blocks[n]
	s.blocks = s.blocks[:n]
	*b = block{at: at, data: b.data[:0]}
	return b
}

// ErrClosed is returned to a reader that was closed.
var ErrClosed = errors.New("replication: closed")

// restart empties the chain and continues at an offset. Its readers are closed. It requires mu.
func (c *chain) restart(at int64) *block {
	c.dropAll()
	c.end, c.ended = at, nil
	c.last = &block{at: at}
	return c.last
}

// write appends b. It requires mu.
func (c *chain) write(b []byte) {
	for len(b) > 0 {
		if len(c.last.data) == cap(c.last.data) {
			next := c.spares.take(c.end)
			c.last.next = next
			c.last = next
		}
		n := min(len(b), cap(c.last.data)-len(c.last.data))
		c.last.data = append(c.last.data, b[:n]...)
		c.end += int64(n)
		b = b[n:]
	}
	for _, r := range c.readers {
		r.wakeUp()
	}
}

// left is called when a reader has left a block. It requires mu.
func (c *chain) left(b *block) {
	for _, r := range c.readers {
		if r.block.at <= b.at {
			return
		}
	}
	c.spares.put(b)
}

// finish ends the chain: its readers get err when they have read everything.
func (c *chain) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = err
	}
	for _, r := range c.readers {
		r.wakeUp()
	}
}

// open returns a reader that begins at a byte of a block. It requires mu.
func (c *chain) open(b *block, pos int) *Reader {
	r := &Reader{chain: c, block: b, pos: pos, wake: make(chan struct{}, 1)}
	c.readers = append(c.readers, r)
	return r
}

// dropAll closes all readers. It requires mu.
func (c *chain) dropAll() {
	for len(c.readers) > 0 {
		c.drop(c.readers[0])
	}
}

// drop closes a reader, which keeps no bytes in memory then. It requires mu.
func (c *chain) drop(r *Reader) {
	if i := slices.Index(c.readers, r); i >= 0 {
		c.readers = slices.Delete(c.readers, i, i+1)
	}
	if !r.closed {
		r.block.kept = true
	}
	r.closed, r.block = true, nil
	r.wakeUp()
	c.signalRoom()
}

// signalRoom lets a writer look again that waits for readers.
func (c *chain) signalRoom() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// unread returns the most that a reader has not read. It requires mu.
func (c *chain) unread() (most int64) {
	for _, r := range c.readers {
		most = max(most, r.unread())
	}
	return most
}

// A Reader reads a chain from some place on. Next belongs to one goroutine; Close and Unread may be
// called by any.
type Reader struct {
	chain *chain
	wake  chan struct{}

	block   *block // protected by chain.mu, as are the fields below
	pos     int
	taken   int64 // how many bytes Next has returned
	waiting bool
	closed  bool
}

// wakeUp requires chain.mu.
func (r *Reader) wakeUp() {
	if r.waiting {
		r.waiting = false
		r.wake <- struct{}{} // it has room: one is sent for each wait
	}
}

// Next blocks until there are bytes and returns some, which must not be changed and are valid until the next
// call, also after Close. interrupt ends the wait: then Next returns nothing and no error. After the last
// byte it returns the error that the chain has ended with, and ErrClosed after Close.
func (r *Reader) Next(interrupt <-chan struct{}) ([]byte, error) {
	for {
		b, err := r.next()
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-r.wake:
		case <-interrupt:
			r.stopWaiting()
			return nil, nil
		}
	}
}

func (r *Reader) stopWaiting() {
	r.chain.mu.Lock()
	defer r.chain.mu.Unlock()
	if !r.waiting {
		<-r.wake
	}
	r.waiting = false
}

// next returns bytes that are there, or notes that the reader waits.
func (r *Reader) next() ([]byte, error) {
	c := r.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	for r.pos == len(r.block.data) && r.block.next != nil {
		before := r.block
		r.block, r.pos = before.next, 0
		c.left(before)
	}
	if n := len(r.block.data); r.pos < n {
		b := r.block.data[r.pos:n:n]
		r.pos = n
		r.taken += int64(len(b))
		c.signalRoom()
		return b, nil
	}
	if c.ended != nil {
		return nil, c.ended
	}
	r.waiting = true
	return nil, nil
}

// Unread returns how many bytes are there that Next has not returned.
func (r *Reader) Unread() int64 {
	r.chain.mu.Lock()
	defer r.chain.mu.Unlock()
	return r.unread()
}

// unread requires chain.mu.
func (r *Reader) unread() int64 {
	if r.closed {
		return 0
	}
	return r.chain.end - r.block.at - int64(r.pos)
}

// progress returns how many bytes Next has returned, and how many more are there.
func (r *Reader) progress() (taken, unread int64) {
	r.chain.mu.Lock()
	defer r.chain.mu.Unlock()
	return r.taken, r.unread()
}

// Close makes Next return ErrClosed.
func (r *Reader) Close() {
	r.chain.mu.Lock()
	defer r.chain.mu.Unlock()
	r.chain.drop(r)
}
