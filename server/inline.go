package server

import "bytes"

// inline goes on with the inline command at start, which is what redis-server takes for anything that does not begin
// with '*'. whole is false when its line end has not arrived or the command is wrong.
//
// Inline commands are ours rather than redcon's, which knows no \xHH, refuses a quote inside a word and takes a
// leading '$' for another protocol.
func (r *reader) inline() (args [][]byte, whole bool) {
	b := r.buf[r.start:r.end]
	stop := min(len(b), maxLine+1)
	i := r.seen
	// Redis searches with strchr: behind a NUL no line end is found.
	for i < stop && b[i] != '\n' && b[i] != 0 {
		i++
	}
	r.examined += int64(i - r.seen + 1)
	r.seen = i
	if i == stop || b[i] == 0 {
		if len(b) > maxLine {
			r.err = errInlineTooBig
		}
		return nil, false
	}
	line := b[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	args, ok := splitInline(line, r.args[:0])
	if !ok {
		r.err = errUnbalancedQuotes
		return nil, false
	}
	r.examined += int64(len(line))
	r.args, r.seen = args, 0
	r.start += i + 1
	r.pos = r.start
	return args, true
}

// splitInline appends the words of line to args, following Redis' sdssplitargs: blanks separate words, except inside
// quotes; double quotes know \xHH, \n, \r, \t, \b, \a and take any other escaped byte for itself; single quotes know
// only \'. A quote may open in the middle of a word but must end it. ok is false when the quotes do not match.
//
// Words are decoded in place, since none is longer than it was written, so line is overwritten and the words alias it.
// line has no NUL.
func splitInline(line []byte, args [][]byte) (words [][]byte, ok bool) {
	for p := 0; ; {
		for p < len(line) && blank(line[p]) {
			p++
		}
		if p == len(line) {
			return args, true
		}
		from, to := p, p
		for p < len(line) && !endsWord(line[p]) {
			if c := line[p]; c != '"' && c != '\'' {
				line[to] = c
				to, p = to+1, p+1
				continue
			}
			if to, p = unquote(line, to, p); p < 0 {
				return args, false
			}
			break
		}
		args = append(args, line[from:to:to])
	}
}

// unquote decodes the quoted text whose opening quote is at line[p] to line[to:]. It returns the ends of both, or -1
// for next when the quote is not closed or is followed by anything but a blank.
func unquote(line []byte, to, p int) (end, next int) {
	quote := line[p]
	for p++; p < len(line); p++ {
		c, rest := line[p], line[p+1:]
		switch {
		case c == quote:
			if len(rest) > 0 && !blank(rest[0]) {
				return to, -1
			}
			return to, p + 1
		case c == '\\' && quote == '\'' && len(rest) > 0 && rest[0] == '\'':
			c = '\''
			p++
		case c == '\\' && quote == '"' && len(rest) > 2 && rest[0] == 'x' && hexDigit(rest[1]) >= 0 && hexDigit(rest[2]) >= 0:
			c = byte(hexDigit(rest[1])<<4 | hexDigit(rest[2]))
			p += 3
		case c == '\\' && quote == '"' && len(rest) > 0:
			c = unescape(rest[0])
			p++
		}
		line[to] = c
		to++
	}
	return to, -1
}

// unescape returns the byte that a backslash and c stand for inside double quotes.
func unescape(c byte) byte {
	if i := bytes.IndexByte([]byte("nrtba"), c); i >= 0 {
		return "\n\r\t\b\a"[i]
	}
	return c
}

// blank reports whether c may stand between words: C's isspace.
func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// endsWord reports whether c ends an unquoted word. Vertical tab and form feed do not, although they are skipped
// between words.
func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
