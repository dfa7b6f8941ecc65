// Package words splits lines into words, which may be quoted, and quotes words. It
// follows Redis' inline commands and configuration file and the append-only log's
// manifest.
//
// This package is internal to zlimit: it may change in any release.
package words

import "bytes"

// Split appends the words of line to args, as Redis' sdssplitargs. Blanks separate
// words, except inside quotes. Double quotes allow \xHH, \n, \r, \t, \b, \a; any other
// escaped byte stands for itself. Single quotes allow only \'. A quote may open in the
// middle of a word but must end it. ok is false if the quotes do not match.
//
// Words are decoded in place, which never lengthens them: line is overwritten, and the
// words alias it. A NUL, which ends C's strings, is an ordinary byte.
func Split(line []byte, args [][]byte) (words [][]byte, ok bool) {
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

// unquote decodes the quoted text whose opening quote is at line[p] to line[to:]. It
// returns both ends, or -1 for next if the quote is not closed or a non-blank follows
// it.
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
		case c == '\\' && quote == '"' && len(rest) > 2 &&
			rest[0] == 'x' && hexDigit(rest[1]) >= 0 && hexDigit(rest[2]) >= 0:
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

// endsWord reports whether c ends an unquoted word. Vertical tab and form feed do not,
// although they are skipped between words.
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
