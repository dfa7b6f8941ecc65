package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// wordsOf returns the words of a command.
func wordsOf(t *testing.T, line string) [][]byte {
	out, err := oracle.Words(line)
	require.NoError(t, err)
	return out
}

func appendCommand(b []byte, args [][]byte) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// showReply formats a reply independently of the protocol: [..] for aggregates,
// (nil) for every null, otherwise the text.
func showReply(t *testing.T, reply []byte) string {
	r := bufio.NewReader(bytes.NewReader(reply))
	text := showNext(t, r)
	_, err := r.ReadByte()
	require.ErrorIs(t, err, io.EOF, "more than one reply: %q", reply)
	return text
}

// elements returns the formatted elements of an array.
func elements(t *testing.T, reply []byte) []string {
	r := bufio.NewReader(bytes.NewReader(reply))
	header, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "*", header[:1], "%q", reply)
	n, err := strconv.Atoi(strings.TrimSpace(header[1:]))
	require.NoError(t, err)
	var out []string
	for range n {
		out = append(out, showNext(t, r))
	}
	return out
}

func showNext(t *testing.T, r *bufio.Reader) string {
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	kind, text := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+', '-', ':', ',':
		return text
	case '_':
		return "(nil)"
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, line)
	if n < 0 {
		return "(nil)"
	}
	if kind == '$' {
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		require.NoError(t, err)
		return string(body[:n])
	}
	require.Contains(t, "*%~", string(kind), line)
	if kind == '%' {
		n *= 2
	}
	parts := make([]string, 0, n)
	for range n {
		parts = append(parts, showNext(t, r))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// TestShowReply: different replies have different formats.
func TestShowReply(t *testing.T) {
	for reply, want := range map[string]string{
		":5\r\n": "5", "+OK\r\n": "OK", "-ERR x\r\n": "ERR x", "_\r\n": "(nil)", "$-1\r\n": "(nil)",
		"*-1\r\n":         "(nil)",
		"$3\r\na\r\n\r\n": "a\r\n", ",1.5\r\n": "1.5", "*0\r\n": "[]",
		"*2\r\n:1\r\n*1\r\n_\r\n": "[1 [(nil)]]",
		"%1\r\n+a\r\n:1\r\n":      "[a 1]", "~1\r\n:1\r\n": "[1]",
	} {
		require.Equal(t, want, showReply(t, []byte(reply)), "%q", reply)
	}
}
