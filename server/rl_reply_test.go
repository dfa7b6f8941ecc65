package server_test

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// wordsOf returns the words of a command, quoted as redis-cli does.
func wordsOf(t *testing.T, line string) [][]byte {
	out, err := scenario.Words(line)
	require.NoError(t, err)
	return out
}

// showReply formats a reply, see scenario.Show.
func showReply(t *testing.T, reply []byte) string {
	text, err := scenario.Show(reply)
	require.NoError(t, err)
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
		text, err := scenario.ShowNext(r)
		require.NoError(t, err)
		out = append(out, text)
	}
	return out
}
