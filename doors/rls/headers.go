package rls

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// The bounds of a header block.
const (
	maxHeaderList    = 1 << 14 // of names and values, with 32 bytes each as RFC 9113 counts them
	maxHeaderBlock   = 1 << 15 // of the encoded block
	maxContinuations = 32      // frames of a block after the first
)

// A headerReader decodes header blocks. What it has found is valid until the next block.
type headerReader struct {
	decoder *hpack.Decoder
	block   []byte // the fragments of a block that several frames carry
	stream  uint32 // whose block is incomplete; 0 if none is
	flags   byte   // of the HEADERS frame that began it
	frames  int    // CONTINUATION frames of it
	found   fields
}

// fields is what a request's header block contains.
type fields struct {
	method, scheme, path, contentType, encoding, authorization string

	contentLength int64  // -1 if it is not given
	size          int    // of the list
	regular       bool   // a field that is not a pseudo-header was found
	pseudo        bool   // a pseudo-header was found
	malformed     string // why the block is malformed; "" if it is not
}

// decode decodes a whole block. An error says that the peer's and our tables differ from now on.
func (h *headerReader) decode(block []byte) error {
	h.found = fields{contentLength: -1}
	h.decoder.SetEmitEnabled(true)
	if _, err := h.decoder.Write(block); err != nil {
		return err
	}
	return h.decoder.Close()
}

// field is called by the decoder with each field.
func (h *headerReader) field(f hpack.HeaderField) {
	if h.found.add(f); h.found.tooLarge() {
		h.decoder.SetEmitEnabled(false)
	}
}

// tooLarge reports whether the list exceeds maxHeaderList. The fields are then incomplete.
func (h *fields) tooLarge() bool { return h.size > maxHeaderList }

// add adds a field.
func (h *fields) add(f hpack.HeaderField) {
	if h.size += len(f.Name) + len(f.Value) + 32; h.tooLarge() {
		return
	}
	if strings.HasPrefix(f.Name, ":") {
		h.pseudoField(f)
		return
	}
	h.regular = true
	switch f.Name {
	case "content-type":
		h.contentType = f.Value
	case "grpc-encoding":
		h.encoding = f.Value
	case "authorization":
		h.authorization = f.Value
	case "content-length":
		n, err := strconv.ParseUint(f.Value, 10, 63)
		if err != nil || h.contentLength >= 0 && h.contentLength != int64(n) {
			h.malformed = "content-length"
		}
		h.contentLength = int64(n)
	case "te":
		if f.Value != "trailers" {
			h.malformed = "te"
		}
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		h.malformed = "a field about the connection"
	default:
		if f.Name == "" {
			h.malformed = "a field without a name"
		}
		for i := range len(f.Name) {
			if c := f.Name[i]; c <= ' ' || c >= 0x7f || c >= 'A' && c <= 'Z' || c == ':' {
				h.malformed = "a field's name"
			}
		}
	}
	for i := range len(f.Value) {
		if c := f.Value[i]; c == 0 || c == '\r' || c == '\n' {
			h.malformed = "a field's value"
		}
	}
}

func (h *fields) pseudoField(f hpack.HeaderField) {
	var to *string
	h.pseudo = true
	switch f.Name {
	case ":method":
		to = &h.method
	case ":scheme":
		to = &h.scheme
	case ":path":
		to = &h.path
	case ":authority":
		if h.regular {
			h.malformed = "a pseudo-header after a field"
		}
		return
	default:
		h.malformed = "an unknown pseudo-header"
		return
	}
	if *to != "" || f.Value == "" || h.regular {
		h.malformed = "a pseudo-header that is repeated, empty, or after a field"
	}
	*to = f.Value
}

// checkRequest finds what a request lacks.
func (h *fields) checkRequest() {
	if h.malformed == "" && !h.tooLarge() && (h.method == "" || h.scheme == "" || h.path == "") {
		h.malformed = "a missing pseudo-header"
	}
}

// headersFrame handles HEADERS.
func (c *conn) headersFrame(f *frame) *connError {
	if f.stream%2 == 0 {
		return &connError{codeProtocol, "HEADERS on a stream that is not a client's"}
	}
	block, err := f.unpad()
	if err != nil {
		return err
	}
	if f.flags&flagPriority != 0 {
		if len(block) < 5 {
			return &connError{codeFrameSize, "HEADERS without the priority it announces"}
		}
		block = block[5:]
	}
	if f.flags&flagEndHeaders != 0 {
		return c.headerBlock(f.stream, f.flags, block)
	}
	h := &c.headers
	h.stream, h.flags, h.frames = f.stream, f.flags, 0
	h.block = append(h.block[:0], block...)
	return nil
}

// continuation handles CONTINUATION.
func (c *conn) continuation(f *frame) *connError {
	h := &c.headers
	if h.stream == 0 {
		return &connError{codeProtocol, "CONTINUATION without HEADERS"}
	}
	h.frames++
	if h.frames > maxContinuations || len(h.block)+len(f.payload) > maxHeaderBlock {
		return &connError{codeEnhanceYourCalm, "header block too large"}
	}
	h.block = append(h.block, f.payload...)
	if f.flags&flagEndHeaders == 0 {
		return nil
	}
	stream := h.stream
	h.stream = 0
	return c.headerBlock(stream, h.flags, h.block)
}

// headerBlock handles a whole header block, which begins a stream or is the trailers of one.
func (c *conn) headerBlock(id uint32, flags byte, block []byte) *connError {
	// The block is decoded whatever becomes of the stream: later blocks refer to it.
	if err := c.headers.decode(block); err != nil {
		return &connError{codeCompression, err.Error()}
	}
	if id <= c.streams.lastID {
		return c.trailingBlock(id, flags)
	}
	if c.ending.phase == draining {
		return nil // the peer knows that the stream is not served
	}
	c.streams.lastID = id
	h := &c.headers.found
	h.checkRequest()
	switch {
	case h.malformed != "":
		c.streams.remember(id, true)
		return c.resetStream(id, codeProtocol)
	case len(c.streams.open) >= maxStreams:
		c.streams.remember(id, true)
		c.out.buf = appendRSTStream(c.out.buf, id, codeRefusedStream)
		for _, s := range c.streams.open {
			if s.orphan {
				return c.counters.controlFrame() // the peer may not have counted that one
			}
		}
		return c.counters.fault()
	}
	s := c.streams.add(id, c.windows.peerSize)
	s.halfClosed = flags&flagEndStream != 0
	s.data.announced = h.contentLength
	var st *status
	if s.head, st = h.route(); st != nil {
		return c.fail(s, st)
	}
	s.deadline = c.now.Add(streamTimeout)
	if s.halfClosed {
		return c.request(s, nil)
	}
	return nil
}

// trailingBlock handles the trailers of a request, whose fields mean nothing in gRPC.
func (c *conn) trailingBlock(id uint32, flags byte) *connError {
	s := c.streams.find(id)
	switch {
	case s == nil:
		known, early := c.streams.recall(id)
		switch {
		case !known:
			return &connError{codeProtocol, "HEADERS on a stream that was skipped, or closed long ago"}
		case !early:
			return &connError{codeStreamClosed, "HEADERS on a closed stream"}
		}
		return c.counters.controlFrame()
	case s.halfClosed:
		return c.abort(s, codeStreamClosed)
	case flags&flagEndStream == 0 || c.headers.found.pseudo || c.headers.found.malformed != "":
		return c.abort(s, codeProtocol)
	}
	return c.endOfRequest(s, s.body)
}
