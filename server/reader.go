package server

import (
	"errors"
	"math"
)

// A protocolError is input that redis-server answers with an error before it closes the connection. The text is the
// one Redis sends, without the "-ERR " in front and the line end behind.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// Redis' texts for unreadable input; one more, expectedDollar, carries the offending byte.
const (
	errInlineTooBig         protocolError = "Protocol error: too big inline request"
	errUnbalancedQuotes     protocolError = "Protocol error: unbalanced quotes in request"
	errCountLineTooBig      protocolError = "Protocol error: too big mbulk count string"
	errBulkLineTooBig       protocolError = "Protocol error: too big bulk count string"
	errCountInvalid         protocolError = "Protocol error: invalid multibulk length"
	errCountUnauthenticated protocolError = "Protocol error: unauthenticated multibulk length"
	errBulkInvalid          protocolError = "Protocol error: invalid bulk length"
	errBulkUnauthenticated  protocolError = "Protocol error: unauthenticated bulk length"
)

// errQueryBufferLimit is a client past client-query-buffer-limit (or maxCommand): Redis closes it without an answer.
var errQueryBufferLimit = errors.New("client reached max query buffer length")

// expectedDollar is the error for an argument that does not open with '$'. Line ends would break the reply, so they
// are shown as spaces, as Redis shows them.
func expectedDollar(got byte) protocolError {
	if got == '\r' || got == '\n' {
		got = ' '
	}
	return protocolError("Protocol error: expected '$', got '" + string([]byte{got}) + "'")
}

const (
	maxLine       = 64 << 10      // bytes an inline command or a length line may have before its end is seen
	maxCount      = 1<<31 - 1     // arguments a command may announce
	guestCount    = 10            // the same before AUTH
	guestBulk     = 16 << 10      // bytes an argument may have before AUTH
	argOverhead   = 24            // bytes of a slice header: what one argument costs us beside its bytes
	neverPlain    = 1<<31 - 1     // upper end for reader.plain, so that the sums behind it cannot overflow an int
	noBulk        = -1            // reader.bulk between two arguments
	minBuffer     = 4 << 10       // what an idle connection holds
	pipelineBytes = 64 << 10      // how far full reads alone make a buffer grow
	keptBuffer    = 1 << 20       // a buffer above this is given back as soon as its command is done
	keptArgs      = 8 << 10       // the same for the slice of arguments
	minRoom       = minBuffer / 8 // reading into less than this is not worth a system call, unless it ends a bulk
)

// limits bounds what one connection may send. The names are Redis' where Redis has one.
type limits struct {
	maxBulkLen    int64 // proto-max-bulk-len, bytes: a longer argument is refused when it is announced
	maxQueryBuf   int64 // client-query-buffer-limit, bytes: of one argument received so far
	maxCommand    int64 // bytes one command may occupy here, slice headers included; Redis bounds only its arguments
	authenticated bool  // false before AUTH: guestCount and guestBulk hold
}

// defaultLimits are redis-server's defaults for a connection that needs no password.
func defaultLimits() limits {
	return limits{maxBulkLen: 512 << 20, maxQueryBuf: 1 << 30, maxCommand: 1 << 30, authenticated: true}
}

// A reader turns the bytes of one connection into commands as redis-server 7.0 does. It owns the buffer they arrive
// in and does no input itself: read into free(), tell filled() how much came, call next() until it has no more.
//
// buf[start:end] is what has arrived and is not yet consumed; start is always the first byte of a command. The scan of
// that command stands at pos and goes on there when more bytes come, so a command is walked once however it is cut
// up: left arguments are missing, and bulk is the length of the one whose bytes begin at pos (noBulk when its length
// line comes next). seen counts the bytes of an unfinished line that were already searched for its end.
//
// Work is linear in the bytes received. Memory follows bytes received, never bytes or arguments announced.
//
// A reader belongs to one goroutine.
type reader struct {
	buf        []byte
	start, end int
	base       int // where pos was at the last free(): what Redis calls the query buffer begins here
	pos        int
	seen       int
	left       int
	count      int
	bulk       int
	args       [][]byte
	limits     limits
	plain      int   // bulks up to this length are within every limit
	full       bool  // the last read left no room
	examined   int64 // bytes the scan looked at, so that a test can tell linear work from quadratic
	moved      int64 // bytes copied inside or between buffers, for the same test
	query      queryBuffer
	err        error
}

// newReader returns a reader without a buffer; the first free() makes one.
func newReader(l limits) *reader {
	r := &reader{bulk: noBulk, query: emptyQuery()}
	r.setLimits(l)
	return r
}

// setLimits replaces the limits, between two commands: after AUTH, RESET or CONFIG SET. A length already read is not
// judged again.
func (r *reader) setLimits(l limits) {
	l.maxBulkLen = min(l.maxBulkLen, math.MaxInt-2) // an int must hold a length with its line end
	r.limits = l
	plain := min(l.maxBulkLen, l.maxQueryBuf-2, neverPlain)
	if !l.authenticated {
		plain = min(plain, guestBulk)
	}
	r.plain = int(plain)
}

// next returns the next whole command. ok is false when more bytes are needed or err is set. The slice args is reused
// by the following next(); the bytes behind it alias the buffer, hold until the following free() and are not
// to be appended to. err is a protocolError, to be answered, or errQueryBufferLimit; either way the connection is over
// and every later call returns the same.
//
// Commands without arguments (*0, *-1, an empty line) are skipped, as in Redis.
func (r *reader) next() (args [][]byte, ok bool, err error) {
	for r.err == nil && r.start < r.end {
		var whole bool
		if r.buf[r.start] == '*' {
			args, whole = r.multibulk()
		} else {
			args, whole = r.inline()
		}
		if !whole {
			break
		}
		if len(args) > 0 {
			return args, true, nil
		}
	}
	return nil, false, r.err
}

// bounded reports whether the command, of which the scan has looked at the bytes up to p, is within maxCommand.
func (r *reader) bounded(p int) bool {
	if r.err == nil && int64(p-r.start)+argOverhead*int64(r.count-r.left) > r.limits.maxCommand {
		r.err = errQueryBufferLimit
	}
	return r.err == nil
}

// fail ends the connection with err, found once the bytes up to p were known. Bytes past maxCommand are never looked
// at when they arrive one by one, so they must not decide when they arrive together.
func (r *reader) fail(p int, err error) {
	if r.bounded(p) {
		r.err = err
	}
}
