package server

import (
	"bytes"

	"github.com/tidwall/redcon"

	"github.com/zlimit/zlimit/store/decimal"
)

// multibulk continues to parse the command at start. whole is false if it is
// incomplete or invalid. A count of zero or less is a whole command without
// arguments.
func (r *reader) multibulk() (args [][]byte, whole bool) {
	b := r.buf[:r.end]
	if r.left == 0 {
		n, q := plainLength(b, r.pos)
		if q == 0 || (n > unauthCount && !r.limits.authenticated) {
			var ok bool
			if n, q, ok = r.countLine(b, r.pos); !ok {
				return nil, false
			}
		}
		r.examined += int64(q - r.pos)
		r.pos, r.searched = q, 0
		if n <= 0 {
			r.start = q
			return nil, true
		}
		r.left, r.count = n, n
	}
	if !r.scan(b) {
		return nil, false
	}
	if args = r.earlier[:0]; cap(args) < r.count {
		args = make([][]byte, 0, max(r.count, 8))
	}
	// redcon parses what scan has just checked. Slicing the arguments here would
	// save 30 ns per command; docs/adr/0052 says why its parser stays.
	complete, args, _, _, _ := redcon.ReadNextCommand(b[r.start:r.pos], args)
	if !complete {
		args = splitLenient(b[r.start:r.pos], args)
	}
	r.keepArgs(args)
	r.start = r.pos
	return args, true
}

// scan scans the missing arguments of a command from pos. It reports whether all of
// them are there and allowed.
func (r *reader) scan(b []byte) bool {
	p, left, bulk, bodies := r.pos, r.left, r.bulk, 0
	for left > 0 {
		if bulk == noBulk {
			n, q := plainLength(b, p)
			if q == 0 || b[p] != '$' || n > r.plain {
				r.left = left
				var ok bool
				if n, q, ok = r.bulkLine(b, p); !ok {
					break
				}
			}
			bulk, p, r.searched = n, q, 0
		}
		if len(b)-p-2 < bulk {
			break
		}
		if bulk > r.plain && int64(bulk)+2 > r.limits.maxQueryBuf {
			break
		}
		p += bulk + 2
		bodies += bulk
		bulk = noBulk
		left--
	}
	r.examined += int64(p - r.pos - bodies)
	r.pos, r.left, r.bulk = p, left, bulk
	if bulk != noBulk && int64(len(b)-p) > r.limits.maxQueryBuf {
		r.err = errQueryBufferLimit
	}
	if left > 0 {
		p = len(b)
	}
	return r.withinMaxCommand(p) && left == 0
}

// splitLenient appends the arguments of a scanned command that redcon refuses. It
// differs in its line ends: Redis accepts any byte for the '\n', and any two bytes
// behind an argument.
func splitLenient(b []byte, args [][]byte) [][]byte {
	p := bytes.IndexByte(b, '\r') + 2
	for p < len(b) {
		e := p + bytes.IndexByte(b[p:], '\r')
		n, _ := decimal.Parse(b[p+1 : e])
		from, to := e+2, e+2+int(n)
		args = append(args, b[from:to:to])
		p = to + 2
	}
	return args
}

// countLine parses the line "*<count>" at p if plainLength could not. It alone
// rejects counts.
func (r *reader) countLine(b []byte, p int) (n, next int, ok bool) {
	r.count = 0
	e := r.lineEnd(b, p, errCountLineTooBig)
	if e < 0 {
		return 0, 0, false
	}
	v, valid := decimal.Parse(b[p+1 : e])
	switch {
	case !valid || v > maxCount:
		r.fail(e+2, errCountInvalid)
	case v > unauthCount && !r.limits.authenticated:
		r.fail(e+2, errCountUnauthenticated)
	default:
		return int(max(v, 0)), e + 2, true
	}
	return 0, 0, false
}

// bulkLine parses the line "$<length>" at p if plainLength could not. It alone
// rejects lengths.
func (r *reader) bulkLine(b []byte, p int) (n, next int, ok bool) {
	e := r.lineEnd(b, p, errBulkLineTooBig)
	if e < 0 {
		return 0, 0, false
	}
	if b[p] != '$' {
		r.fail(e+2, expectedDollar(b[p]))
		return 0, 0, false
	}
	v, valid := decimal.Parse(b[p+1 : e])
	switch {
	case !valid || v < 0 || v > r.limits.maxBulkLen:
		r.fail(e+2, errBulkInvalid)
	case v > unauthBulk && !r.limits.authenticated:
		r.fail(e+2, errBulkUnauthenticated)
	default:
		return int(v), e + 2, true
	}
	return 0, 0, false
}

// lineEnd returns the index of the '\r' that ends the length line at p, once the
// byte after it has arrived (Redis accepts any byte for the '\n'). Otherwise it
// returns -1: it records how far it has searched, or fails with tooBig. As Redis
// searches with strchr, a NUL hides an end behind it.
func (r *reader) lineEnd(b []byte, p int, tooBig error) int {
	i, stop := p+r.searched, min(len(b), p+maxLine+1)
	for i < stop && b[i] != '\r' && b[i] != 0 {
		i++
	}
	r.examined += int64(i - p - r.searched + 1)
	r.searched = i - p
	if i < stop && b[i] == '\r' {
		if i+1 < len(b) {
			return i
		}
	} else if len(b)-p > maxLine {
		r.fail(p+maxLine+1, tooBig)
		return -1
	}
	r.withinMaxCommand(len(b))
	return -1
}

// plainLength parses a complete line as every client sends it: a type byte, up to
// nine digits without a leading zero, and "\r\n". next is 0 if the line at p is
// different or incomplete.
func plainLength(b []byte, p int) (n, next int) {
	if len(b)-p < 4 {
		return 0, 0
	}
	d := b[p+1] - '0'
	if b[p+2] == '\r' && b[p+3] == '\n' && d <= 9 {
		return int(d), p + 4
	}
	if d == 0 {
		return 0, 0
	}
	for i := p + 1; i < len(b)-1 && i <= p+10; i++ {
		d := b[i] - '0'
		if d <= 9 {
			n = n*10 + int(d)
			continue
		}
		if b[i] == '\r' && b[i+1] == '\n' && i > p+1 {
			return n, i + 2
		}
		break
	}
	return 0, 0
}
