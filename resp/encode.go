package resp

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Protocol versions that a client can request with HELLO.
const (
	RESP2 = 2
	RESP3 = 3
)

// Append appends v to b in protocol proto (RESP2 or RESP3).
func Append(b []byte, v *Value, proto int) []byte {
	switch v.kind {
	case KindNone:
		return b
	case KindEncoded:
		return append(b, v.Str()...)
	case KindStream:
		return appendStream(b, v.Stream())
	case KindStatus:
		return appendLine(b, '+', v.Str())
	case KindError:
		return appendLine(b, '-', strings.TrimRight(v.Str(), "\r\n"))
	case KindInteger:
		return appendHeader(b, ':', v.num)
	case KindBulk:
		return appendBulk(b, v.Str())
	case KindBulkInt:
		var digits [20]byte
		s := strconv.AppendInt(digits[:0], v.num, 10)
		b = appendHeader(b, '$', int64(len(s)))
		b = append(b, s...)
		return append(b, '\r', '\n')
	case KindDouble:
		return appendDouble(b, v.Float(), proto)
	case KindNull:
		if proto == RESP3 {
			return append(b, "_\r\n"...)
		}
		return append(b, "$-1\r\n"...)
	case KindNullArray:
		if proto == RESP3 {
			return append(b, "_\r\n"...)
		}
		return append(b, "*-1\r\n"...)
	case KindBool:
		if proto == RESP3 {
			if v.num != 0 {
				return append(b, "#t\r\n"...)
			}
			return append(b, "#f\r\n"...)
		}
		return appendHeader(b, ':', v.num)
	case KindBigNumber:
		if proto == RESP3 {
			return appendLine(b, '(', v.Str())
		}
		return appendBulk(b, v.Str())
	case KindVerbatim:
		if proto == RESP3 {
			b = appendHeader(b, '=', int64(len(v.Str())+len(verbatimFormat)))
			b = append(b, verbatimFormat...)
			b = append(b, v.Str()...)
			return append(b, '\r', '\n')
		}
		return appendBulk(b, v.Str())
	}
	return appendAggregate(b, v, proto)
}

// verbatimFormat precedes a verbatim text in RESP3.
const verbatimFormat = "txt:"

// appendAggregate encodes the kinds that hold other values.
func appendAggregate(b []byte, v *Value, proto int) []byte {
	elems := v.Elems()
	b = AppendHead(b, v.kind, int64(len(elems)), proto)
	for i := range elems {
		if e := &elems[i]; e.kind == KindInteger { // the elements of RL.ALLOW's reply, without a call each
			b = appendHeader(b, ':', e.num)
		} else {
			b = Append(b, e, proto)
		}
	}
	return b
}

// AppendHead appends the line before the n elements of an aggregate.
func AppendHead(b []byte, kind Kind, n int64, proto int) []byte {
	prefix := byte('*')
	if proto == RESP3 {
		switch kind {
		case KindMap:
			prefix, n = '%', n/2
		case KindSet:
			prefix = '~'
		case KindPush:
			prefix = '>'
		}
	}
	return appendHeader(b, prefix, n)
}

// appendHeader appends a type byte, a number and a line end. With up to five digits,
// which covers most counts and replies of RL.ALLOW, these are at most eight bytes. They
// are built in one word, last byte first.
func appendHeader(b []byte, prefix byte, n int64) []byte {
	if uint64(n) < 100_000 {
		line := uint64('\n')<<8 | '\r'
		for u := uint32(n); ; {
			rest := u / 10
			line = line<<8 | uint64('0'+u-10*rest)
			if u = rest; u == 0 {
				break
			}
		}
		line = line<<8 | uint64(prefix)
		size := (bits.Len64(line) + 7) / 8
		return binary.LittleEndian.AppendUint64(b, line)[:len(b)+size]
	}
	b = append(b, prefix)
	b = strconv.AppendInt(b, n, 10)
	return append(b, '\r', '\n')
}

func appendBulk(b []byte, s string) []byte {
	b = appendHeader(b, '$', int64(len(s)))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// appendLine appends a one-line reply. A line break in the text would end the reply
// early, so it becomes a space, or nothing at the end of an error, as in Redis.
func appendLine(b []byte, prefix byte, s string) []byte {
	b = append(b, prefix)
	start := len(b)
	b = append(b, s...)
	for i := start; i < len(b); i++ {
		if b[i] == '\r' || b[i] == '\n' {
			b[i] = ' '
		}
	}
	return append(b, '\r', '\n')
}

func appendDouble(b []byte, f float64, proto int) []byte {
	var digits [32]byte
	s := AppendFloat(digits[:0], f)
	if proto == RESP3 {
		b = append(b, ',')
	} else {
		b = appendHeader(b, '$', int64(len(s)))
	}
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendFloat formats f as Redis 7.0 does in replies: C's %.17g, with inf and -inf, and
// integral values without a fraction.
func AppendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case f == 0 && math.Signbit(f):
		return append(b, "-0"...)
	case f > -1e17 && f < 1e17 && f == math.Trunc(f):
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', 17, 64)
}
