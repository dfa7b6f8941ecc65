package server

import (
	"errors"
	"math"
)

// A protocolError is the error for invalid input, which redis-server sends before
// it closes the connection. The text is Redis', without the leading "-ERR " and the
// line end.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// Redis' texts for invalid input. expectedDollar makes one more, with the offending
// byte.
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

// errQueryBufferLimit is the error for a client that exceeds
// client-query-buffer-limit or maxCommand. Redis closes the connection without a
// reply.
var errQueryBufferLimit = errors.New("client reached max query buffer length")

// expectedDollar returns the error for an argument that does not begin with '$'.
// Line ends would break the reply, so they are shown as spaces, as in Redis.
func expectedDollar(got byte) protocolError {
	if got == '\r' || got == '\n' {
		got = ' '
	}
	return protocolError("Protocol error: expected '$', got '" + string([]byte{got}) + "'")
}

const (
	maxLine       = 64 << 10      // bytes of an inline command or a length line before its end
	maxCount      = 1<<31 - 1     // arguments of a command
	unauthCount   = 10            // the same before AUTH
	unauthBulk    = 16 << 10      // bytes of an argument before AUTH
	argOverhead   = 24            // bytes of a slice header: the memory of an argument beside its bytes
	maxPlain      = 1<<31 - 1     // bound of reader.plain, so that sums with it do not overflow an int
	noBulk        = -1            // reader.bulk between two arguments
	minBuffer     = 4 << 10       // buffer of an idle connection
	pipelineBytes = 64 << 10      // up to here full reads alone make a buffer grow
	maxKeptBuffer = 1 << 20       // a larger buffer is released as soon as its command is done
	maxKeptArgs   = 8 << 10       // the same for the slice of arguments
	minRoom       = minBuffer / 8 // reading into less is not worth a system call, unless it completes a bulk
)

// limits bounds what one connection may send. Names are Redis' if Redis has one.
type limits struct {
	maxBulkLen    int64 // proto-max-bulk-len, bytes: a longer argument is refused at its length line
	maxQueryBuf   int64 // client-query-buffer-limit, bytes: of one argument received so far
	maxCommand    int64 // bytes of one command in memory, slice headers included; not in Redis
	authenticated bool  // false before AUTH: unauthCount and unauthBulk apply
}

// defaultLimits returns redis-server's defaults for a connection that needs no
// password.
func defaultLimits() limits {
	return limits{maxBulkLen: 512 << 20, maxQueryBuf: 1 << 30, maxCommand: 1 << 30, authenticated: true}
}

// A reader parses the bytes of one connection into commands as redis-server 7.0
// does. It does no I/O: read into free(), pass the number of bytes to filled(), and
// call next() until it returns no more.
//
// buf[start:end] has arrived and is not consumed; start is always the first byte of
// a command. The scan of that command stands at pos, so a command is scanned once,
// however it is split into reads. left is the number of missing arguments. bulk is
// the length of the one whose bytes begin at pos, or noBulk if its length line
// comes next. searched is the number of bytes of an incomplete line already
// searched for its end.
//
// Work is linear in the bytes received. Memory grows with bytes received, not with
// announced ones. A reader belongs to one goroutine.
type reader struct {
	buf        []byte
	start, end int
	base       int // pos at the last free(): what Redis calls the query buffer begins here
	pos        int
	searched   int
	left       int
	count      int
	bulk       int
	args       [][]byte // of the last command
	earlier    [][]byte // of the one before
	limits     limits
	plain      int   // bulks up to this length are within every limit
	full       bool  // the last read filled the buffer
	examined   int64 // bytes the scan examined, for a test of linear work
	moved      int64 // bytes copied within or between buffers, for the same test
	query      queryBuffer
	err        error
}

// newReader returns a reader without a buffer. The first free() allocates one.
func newReader(l limits) *reader {
	r := &reader{bulk: noBulk, query: newQueryBuffer()}
	r.setLimits(l)
	return r
}

// setLimits replaces the limits, between two commands: after AUTH, RESET or CONFIG
// SET. A length that is already parsed is not checked again.
func (r *reader) setLimits(l limits) {
	l.maxBulkLen = min(l.maxBulkLen, math.MaxInt-2) // an int must hold a length with its line end
	r.limits = l
	plain := min(l.maxBulkLen, l.maxQueryBuf-2, maxPlain)
	if !l.authenticated {
		plain = min(plain, unauthBulk)
	}
	r.plain = int(plain)
}

// next returns the next complete command. ok is false if more bytes are needed or
// err is set. The next() after the following one reuses args. The arguments alias the
// buffer, are valid until the following free(), and must not be appended to. err is a
// protocolError, which is to be sent, or errQueryBufferLimit. Either ends the
// connection, and all later calls return it.
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

// withinMaxCommand reports whether the command, scanned up to p, is within
// maxCommand.
func (r *reader) withinMaxCommand(p int) bool {
	if r.err == nil && int64(p-r.start)+argOverhead*int64(r.count-r.left) > r.limits.maxCommand {
		r.err = errQueryBufferLimit
	}
	return r.err == nil
}

// fail ends the connection with err, found once the bytes up to p were known. Bytes
// past maxCommand that arrive one by one are never examined, so they must not
// matter when they arrive together.
func (r *reader) fail(p int, err error) {
	if r.withinMaxCommand(p) {
		r.err = err
	}
}
