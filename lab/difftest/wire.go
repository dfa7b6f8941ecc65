package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// appendCommand appends args as one RESP array of bulk strings, the form that client libraries send.
func appendCommand(dst []byte, args []string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(args)), 10)
	dst = append(dst, '\r', '\n')
	for _, a := range args {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(a)), 10)
		dst = append(dst, '\r', '\n')
		dst = append(dst, a...)
		dst = append(dst, '\r', '\n')
	}
	return dst
}

var errBadReply = errors.New("malformed reply")

// maxReplyDepth bounds the recursion on the reply of a hostile or broken server.
const maxReplyDepth = 64

// appendReply reads exactly one reply and appends its bytes, unchanged, to dst. It parses only as much of
// RESP2 and RESP3 as it needs to find the reply's end: the comparison is of bytes.
func appendReply(dst []byte, r *bufio.Reader, depth int) ([]byte, error) {
	if depth > maxReplyDepth {
		return dst, fmt.Errorf("%w: nested deeper than %d", errBadReply, maxReplyDepth)
	}
	start := len(dst)
	for {
		part, err := r.ReadSlice('\n')
		dst = append(dst, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
	line := dst[start:]
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return dst, fmt.Errorf("%w: line %q", errBadReply, line)
	}
	kind, body := line[0], line[1:len(line)-2]
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		return dst, nil
	case '$', '!', '=':
		n, err := strconv.ParseInt(string(body), 10, 64)
		if err != nil || n < -1 || n > 1<<30 {
			return dst, fmt.Errorf("%w: length %q", errBadReply, line)
		}
		if n == -1 {
			return dst, nil
		}
		at := len(dst)
		dst = append(dst, make([]byte, n+2)...)
		if _, err := io.ReadFull(r, dst[at:]); err != nil {
			return dst[:at], err
		}
		if !bytes.HasSuffix(dst, []byte("\r\n")) {
			return dst, fmt.Errorf("%w: bulk string of %d bytes without its end", errBadReply, n)
		}
		return dst, nil
	case '*', '~', '>', '%', '|':
		n, err := strconv.ParseInt(string(body), 10, 64)
		if err != nil || n < -1 || n > 1<<24 {
			return dst, fmt.Errorf("%w: count %q", errBadReply, line)
		}
		if kind == '%' || kind == '|' {
			n *= 2
		}
		if kind == '|' {
			n++ // an attribute precedes the reply it describes
		}
		for ; n > 0; n-- {
			if dst, err = appendReply(dst, r, depth+1); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	return dst, fmt.Errorf("%w: line %q", errBadReply, line)
}

// A value is a parsed reply. Only the comparators of exceptions.go and the statistics look inside replies;
// everything else compares bytes.
type value struct {
	kind  byte   // the RESP type byte
	text  string // of scalars and bulk strings
	null  bool   // $-1, *-1 and _
	elems []value
}

// parse parses one reply; raw must hold exactly that.
func parse(raw []byte) (value, error) {
	v, rest, err := parseNext(raw)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d bytes too many", errBadReply, len(rest))
	}
	return v, err
}

func parseNext(raw []byte) (value, []byte, error) {
	i := bytes.Index(raw, []byte("\r\n"))
	if i < 1 {
		return value{}, nil, errBadReply
	}
	v := value{kind: raw[0], text: string(raw[1:i])}
	raw = raw[i+2:]
	switch v.kind {
	case '_':
		v.null = true
	case '$', '!', '=':
		n, err := strconv.Atoi(v.text)
		if err != nil || (n >= 0 && n+2 > len(raw)) {
			return value{}, nil, errBadReply
		}
		if n < 0 {
			v.null, v.text = true, ""
			return v, raw, nil
		}
		v.text, raw = string(raw[:n]), raw[n+2:]
	case '*', '~', '>', '%':
		n, err := strconv.Atoi(v.text)
		if err != nil {
			return value{}, nil, errBadReply
		}
		v.text = ""
		if n < 0 {
			v.null = true
			return v, raw, nil
		}
		if v.kind == '%' {
			n *= 2
		}
		for ; n > 0; n-- {
			var e value
			if e, raw, err = parseNext(raw); err != nil {
				return value{}, nil, err
			}
			v.elems = append(v.elems, e)
		}
	}
	return v, raw, nil
}

func (v value) isError() bool { return v.kind == '-' || v.kind == '!' }

// key returns a string that is equal exactly for equal values.
func (v value) key() string {
	if v.elems == nil {
		return fmt.Sprintf("%c%t%q", v.kind, v.null, v.text)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%c[", v.kind)
	for _, e := range v.elems {
		b.WriteString(e.key())
		b.WriteByte(' ')
	}
	b.WriteByte(']')
	return b.String()
}
