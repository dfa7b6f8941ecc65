package scenario

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadReply reads one complete reply of RESP2 or RESP3 and appends its bytes to reply. With an error it
// returns those that were read.
func ReadReply(r *bufio.Reader, reply []byte) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	reply = append(reply, line...)
	if err != nil {
		return reply, err
	}
	if !bytes.HasSuffix(line, []byte("\r\n")) || len(line) < 3 {
		return reply, fmt.Errorf("no reply line: %q", line)
	}
	size := 0
	if bytes.IndexByte([]byte("$=!*~>%|"), line[0]) >= 0 {
		if size, err = strconv.Atoi(string(line[1 : len(line)-2])); err != nil {
			return reply, err
		}
	}
	switch line[0] {
	case '+', '-', ':', '_', ',', '#', '(':
		return reply, nil
	case '$', '=', '!':
		if size < 0 {
			return reply, nil
		}
		body := make([]byte, size+2)
		n, err := io.ReadFull(r, body)
		return append(reply, body[:n]...), err
	case '%', '|':
		size *= 2
		fallthrough
	case '*', '~', '>':
		for range size {
			if reply, err = ReadReply(r, reply); err != nil {
				return reply, err
			}
		}
		return reply, nil
	}
	return reply, fmt.Errorf("no reply type: %q", line)
}

// Show formats a reply independently of the protocol: [..] for aggregates, (nil) for every null, otherwise
// the text.
func Show(reply []byte) (string, error) {
	r := bufio.NewReader(bytes.NewReader(reply))
	text, err := ShowNext(r)
	if err != nil {
		return "", fmt.Errorf("%w: %q", err, reply)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("more than one reply: %q", reply)
	}
	return text, nil
}

// ShowNext formats the next of several replies.
func ShowNext(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, text := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+', '-', ':', ',', '(':
		return text, nil
	case '#':
		return map[string]string{"t": "1", "f": "0"}[text], nil
	case '_':
		return "(nil)", nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", err
	}
	if n < 0 {
		return "(nil)", nil
	}
	switch kind {
	case '$', '=', '!':
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return string(body[:n]), err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return "", fmt.Errorf("no reply type: %q", line)
	}
	parts := make([]string, n)
	for i := range parts {
		if parts[i], err = ShowNext(r); err != nil {
			return "", err
		}
	}
	return "[" + strings.Join(parts, " ") + "]", nil
}
