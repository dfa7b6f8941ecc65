package rls

import (
	"strconv"
	"time"
)

// maxKeptOutput is the capacity of an output buffer that is kept.
const maxKeptOutput = 2 * flushOutput

// flush writes the output, unless another goroutine does, which then writes this output too. mu is held, and
// released during each write.
func (c *conn) flush() {
	if c.writing {
		return
	}
	c.writing = true
	for len(c.out) > 0 && c.writeErr == nil {
		b := c.out
		c.out, c.spare = c.spare[:0], nil
		move := c.writeBy.Sub(c.now) < writeTimeout/2 // rarely, since it costs as much as a decision
		if move {
			c.writeBy = c.now.Add(writeTimeout)
		}
		err := c.write(b, move, c.writeBy)
		if cap(b) <= maxKeptOutput {
			c.spare = b
		}
		if err != nil {
			c.writeErr = err
			c.nc.Close()
		}
	}
	c.writing = false
	c.written.Broadcast()
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
func (c *conn) beginHeaders(id uint32, flags byte) (at int) {
	at = len(c.out)
	c.out = appendFrame(c.out, 0, frameHeaders, flags|flagEndHeaders, id)
	if !c.resized {
		// Said once, it stays true whatever sizes the peer's settings permit.
		c.resized = true
		c.out = append(c.out, tableSizeZero...)
	}
	return at
}

// beginMessage begins a response with a message, which is what is appended to the output until endMessage.
func (c *conn) beginMessage(s *stream) (at int) {
	at = c.beginHeaders(s.id, 0)
	c.out = append(c.out, blockStatus200+blockType...)
	setSize(c.out, at)
	at = len(c.out)
	c.out = appendFrame(c.out, 0, frameData, 0, s.id)
	c.out = append(c.out, 0, 0, 0, 0, 0) // the message is not compressed; its size follows
	return at
}

// endMessage ends the stream with the response, or keeps what the windows do not admit.
func (c *conn) endMessage(s *stream, at int) *connError {
	size := len(c.out) - at - frameHead
	message := uint32(size - prefixSize)
	prefix := c.out[at+frameHead:]
	prefix[1], prefix[2], prefix[3], prefix[4] =
		byte(message>>24), byte(message>>16), byte(message>>8), byte(message)
	if n := int64(size); size <= maxFrame && n <= c.sendSize && n <= s.sendSize {
		setSize(c.out, at)
		c.sendSize -= n
		c.trailers(s)
		return nil
	}
	if c.pending+size > maxPending {
		c.out = c.out[:at]
		c.end(s, false)
		return c.resetStream(s.id, codeEnhanceYourCalm)
	}
	c.pending += size
	s.pending = append(s.pending[:0], prefix...)
	s.unsent = s.pending
	c.out = c.out[:at]
	s.state, s.deadline = stateBlocked, c.now.Add(streamTimeout)
	c.pushStream(s)
	return nil
}

// push sends what the windows admit of responses that wait for them.
func (c *conn) push() {
	for i := 0; c.pending > 0 && i < len(c.streams); {
		s := c.streams[i]
		if s.state != stateBlocked || !c.pushStream(s) {
			i++
		}
	}
}

// pushStream reports whether the stream has ended.
func (c *conn) pushStream(s *stream) bool {
	for len(s.unsent) > 0 {
		n := int(min(int64(len(s.unsent)), maxFrame, c.sendSize, s.sendSize))
		if n <= 0 {
			return false
		}
		c.out = append(appendFrame(c.out, n, frameData, 0, s.id), s.unsent[:n]...)
		s.unsent = s.unsent[n:]
		c.pending -= n
		c.sendSize -= int64(n)
		s.sendSize -= int64(n)
	}
	c.trailers(s)
	return true
}

// trailers ends a stream whose message was sent.
func (c *conn) trailers(s *stream) {
	c.out = appendFrame(c.out, len(blockOK), frameHeaders, flagEndHeaders|flagEndStream, s.id)
	c.out = append(c.out, blockOK...)
	c.end(s, false)
	c.control = max(0, c.control-controlPerAnswer)
}

// A status is the error that a stream ends with, in the place of a message.
type status struct {
	http int // 0 is 200
	code int
	text string
}

// fail ends a stream with an error. If the peer has not sent all of the request, it is asked to stop.
func (c *conn) fail(s *stream, st *status) *connError {
	at := c.beginHeaders(s.id, flagEndStream)
	if st.http == 0 {
		c.out = append(c.out, blockStatus200...)
	} else {
		c.out = strconv.AppendInt(append(c.out, blockStatus...), int64(st.http), 10)
	}
	c.out = append(c.out, blockType+blockGRPCStatus...)
	if st.code >= 10 {
		c.out = append(c.out, 2, '1', byte('0'+st.code-10))
	} else {
		c.out = append(c.out, 1, byte('0'+st.code))
	}
	if st.code == statusUnimplemented {
		c.out = append(c.out, blockEncoding...)
	}
	if st.text != "" {
		c.out = appendLiteral(append(c.out, blockMessage...), percentEncode(st.text))
	}
	setSize(c.out, at)
	early := !s.halfClosed
	c.end(s, early)
	if early {
		c.out = appendRSTStream(c.out, s.id, codeNo)
		return c.fault()
	}
	c.control = max(0, c.control-controlPerAnswer)
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
