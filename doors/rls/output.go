package rls

import (
	"strconv"
	"sync"
	"time"
)

// maxKeptOutput is the capacity of an output buffer that is kept.
const maxKeptOutput = 2 * flushOutput

// An output is what is to be written. It is protected by conn.mu, which is released while a goroutine writes.
type output struct {
	buf     []byte
	spare   []byte // the buffer that is not buf, unless it is being written
	writing bool
	written sync.Cond // signalled when writing becomes false
	by      time.Time // the write deadline
	err     error
	resized bool // the first header block was sent, with the update of the table's size
}

// take removes the output for writing it, which begins with the spare buffer again.
func (o *output) take() []byte {
	b := o.buf
	o.buf, o.spare = o.spare[:0], nil
	return b
}

// wait waits while another goroutine writes and at least n bytes are to be written. It requires that conn.mu
// is held, and releases it meanwhile.
func (o *output) wait(n int) {
	for o.writing && len(o.buf) >= n {
		o.written.Wait()
	}
}

// flush writes the output, unless another goroutine does, which then writes this output too. mu is held, and
// released during each write.
func (c *conn) flush() {
	if c.out.writing {
		return
	}
	c.out.writing = true
	for len(c.out.buf) > 0 && c.out.err == nil {
		b := c.out.take()
		move := c.out.by.Sub(c.now) < writeTimeout/2 // rarely, since it costs as much as a decision
		if move {
			c.out.by = c.now.Add(writeTimeout)
		}
		err := c.write(b, move, c.out.by)
		if cap(b) <= maxKeptOutput {
			c.out.spare = b
		}
		if err != nil {
			c.out.err = err
			c.nc.Close()
		}
	}
	c.out.writing = false
	c.out.written.Broadcast()
}

// write writes b without mu.
func (c *conn) write(b []byte, move bool, by time.Time) error {
	c.mu.Unlock()
	defer c.mu.Lock()
	if move {
		if err := c.nc.SetWriteDeadline(by); err != nil {
			return err
		}
	}
	_, err := c.nc.Write(b)
	return err
}

// The blocks of response headers, by static indexes of HPACK and literals that are not indexed.
const (
	tableSizeZero   = "\x20" // the dynamic table is not used
	blockStatus200  = "\x88"
	blockStatus     = "\x08\x03" // followed by the three digits
	blockType       = "\x0f\x10\x10application/grpc"
	blockGRPCStatus = "\x00\x0bgrpc-status" // followed by the value, as is the next
	blockMessage    = "\x00\x0cgrpc-message"
	blockEncoding   = "\x00\x14grpc-accept-encoding\x08identity"
	blockOK         = blockGRPCStatus + "\x010"
)

// beginHeaders begins a HEADERS frame, which setSize ends.
func (o *output) beginHeaders(id uint32, flags byte) (at int) {
	at = len(o.buf)
	o.buf = appendFrame(o.buf, 0, frameHeaders, flags|flagEndHeaders, id)
	if !o.resized {
		// Said once, it stays true whatever sizes the peer's settings permit.
		o.resized = true
		o.buf = append(o.buf, tableSizeZero...)
	}
	return at
}

// beginMessage begins a response with a message, which is what is appended to the output until endMessage.
func (o *output) beginMessage(id uint32) (at int) {
	at = o.beginHeaders(id, 0)
	o.buf = append(o.buf, blockStatus200+blockType...)
	setSize(o.buf, at)
	at = len(o.buf)
	o.buf = appendFrame(o.buf, 0, frameData, 0, id)
	o.buf = append(o.buf, 0, 0, 0, 0, 0) // the message is not compressed; its size follows
	return at
}

// endMessage ends the stream with the response, or keeps what the windows do not admit.
func (c *conn) endMessage(s *stream, at int) *connError {
	size := len(c.out.buf) - at - frameHead
	message := uint32(size - prefixSize)
	prefix := c.out.buf[at+frameHead:]
	prefix[1], prefix[2], prefix[3], prefix[4] =
		byte(message>>24), byte(message>>16), byte(message>>8), byte(message)
	if c.windows.admitted(s, size) == size {
		setSize(c.out.buf, at)
		c.windows.spend(s, size)
		c.trailers(s)
		return nil
	}
	if c.windows.pending+size > maxPending {
		c.out.buf = c.out.buf[:at]
		c.end(s, false)
		return c.resetStream(s.id, codeEnhanceYourCalm)
	}
	c.windows.pending += size
	s.response.keep(prefix)
	c.out.buf = c.out.buf[:at]
	s.state, s.deadline = stateBlocked, c.now.Add(streamTimeout)
	c.pushStream(s)
	return nil
}

// trailers ends a stream whose message was sent.
func (c *conn) trailers(s *stream) {
	c.out.buf = appendFrame(c.out.buf, len(blockOK), frameHeaders, flagEndHeaders|flagEndStream, s.id)
	c.out.buf = append(c.out.buf, blockOK...)
	c.end(s, false)
	c.counters.answered()
}

// A status is the error that a stream ends with, in the place of a message.
type status struct {
	http int // 0 is 200
	code int
	text string
}

// fail ends a stream with an error. If the peer has not sent all of the request, it is asked to stop.
func (c *conn) fail(s *stream, st *status) *connError {
	at := c.out.beginHeaders(s.id, flagEndStream)
	if st.http == 0 {
		c.out.buf = append(c.out.buf, blockStatus200...)
	} else {
		c.out.buf = strconv.AppendInt(append(c.out.buf, blockStatus...), int64(st.http), 10)
	}
	c.out.buf = append(c.out.buf, blockType+blockGRPCStatus...)
	if st.code >= 10 {
		c.out.buf = append(c.out.buf, 2, '1', byte('0'+st.code-10))
	} else {
		c.out.buf = append(c.out.buf, 1, byte('0'+st.code))
	}
	if st.code == statusUnimplemented {
		c.out.buf = append(c.out.buf, blockEncoding...)
	}
	if st.text != "" {
		c.out.buf = appendLiteral(append(c.out.buf, blockMessage...), percentEncode(st.text))
	}
	setSize(c.out.buf, at)
	early := !s.halfClosed
	c.end(s, early)
	if early {
		c.out.buf = appendRSTStream(c.out.buf, s.id, codeNo)
		return c.counters.fault()
	}
	c.counters.answered()
	return nil
}

// appendLiteral appends a string of HPACK without Huffman coding.
func appendLiteral(b []byte, s string) []byte {
	n := len(s)
	if n < 127 {
		b = append(b, byte(n))
	} else {
		b = append(b, 127)
		for n -= 127; n >= 128; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		b = append(b, byte(n))
	}
	return append(b, s...)
}
