package upstream

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// isError reports whether a raw reply is an error.
func isError(raw []byte) bool { return len(raw) > 0 && (raw[0] == '-' || raw[0] == '!') }

// errorText returns the text of a raw error reply.
func errorText(raw []byte) string {
	if raw[0] == '!' {
		_, raw, _ = bytes.Cut(raw, []byte("\n"))
	} else {
		raw = raw[1:]
	}
	return strings.TrimRight(string(raw), "\r\n")
}

// code returns the first word of a raw error reply, or "".
func code(raw []byte) string {
	if !isError(raw) {
		return ""
	}
	word, _, _ := strings.Cut(errorText(raw), " ")
	return word
}

// errorReply returns an error reply; text starts with its code word.
func errorReply(text string) []byte { return encode(resp.Error(text), resp.RESP2) }

func encode(v resp.Value, proto int) []byte { return resp.Append(nil, &v, proto) }

// isOK reports whether a raw reply is no error.
func isOK(raw []byte) bool { return len(raw) > 0 && !isError(raw) }

// isNull reports whether a raw reply is a null.
func isNull(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '_' || len(raw) > 2 && raw[0] != ':' && raw[1] == '-' && raw[2] == '1')
}

// elements returns the raw elements of a raw array, set or push, or nil if it is none.
func elements(raw []byte) [][]byte {
	if len(raw) == 0 || !bytes.ContainsRune([]byte("*~>"), rune(raw[0])) {
		return nil
	}
	n, rest := header(raw)
	var out [][]byte
	for range n {
		size := length(rest)
		if size == 0 {
			return nil
		}
		out = append(out, rest[:size])
		rest = rest[size:]
	}
	return out
}

// header returns the number of a reply's first line, and what follows it.
func header(raw []byte) (n int, rest []byte) {
	line, rest, _ := bytes.Cut(raw, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if err != nil {
		return 0, rest
	}
	return n, rest
}

// length returns the size of the reply at the start of raw, which is complete, or 0 if it is
// none.
func length(raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	n, rest := header(raw)
	first := len(raw) - len(rest)
	elems := 0
	switch raw[0] {
	case '$', '=', '!':
		if n < 0 {
			return first
		}
		return min(first+n+2, len(raw))
	case '*', '~', '>':
		elems = n
	case '%':
		elems = 2 * n
	case '|':
		elems = 2*n + 1
	default:
		return first
	}
	at := first
	for range elems {
		size := length(raw[at:])
		if size == 0 {
			return 0
		}
		at += size
	}
	return at
}

// text returns the bytes of a raw bulk or simple string, or nil.
func text(raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	n, rest := header(raw)
	switch raw[0] {
	case '$':
		if n < 0 || n > len(rest) {
			return nil
		}
		return rest[:n]
	case '+', ':':
		return bytes.TrimSpace(raw[1 : len(raw)-len(rest)])
	}
	return nil
}

// arrayOf returns an array of raw elements.
func arrayOf(elems [][]byte) []byte {
	b := append(strconv.AppendInt([]byte{'*'}, int64(len(elems)), 10), '\r', '\n')
	for _, e := range elems {
		b = append(b, e...)
	}
	return b
}
