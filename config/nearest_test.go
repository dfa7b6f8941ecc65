package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	for line, want := range map[string]string{
		"prot 7000": "port", "PROT 7000": "port", "por 7000": "port", "portt 7000": "port",
		"timeout=5": "timeout", "timeout:5": "timeout", "maxmemroy 1gb": "maxmemory",
		"max-memory 1gb":  "maxmemory",
		"append-only yes": "appendonly", "hepl": "help", "chekc f": "check", "x": "",
		"foo bar": "", "-p 1": "",
		"\"\" 1": "", strings.Repeat("x", 100): "",
	} {
		err := New().ParseFile("f", strings.NewReader(line))
		at := (*FileError)(nil)
		require.ErrorAs(t, err, &at, line)
		require.Equal(t, want, at.Nearest(), line)
	}
	at := (*FileError)(nil)
	require.ErrorAs(t, New().ParseFile("f", strings.NewReader("port x")), &at)
	require.Empty(t, at.Unknown)
}

func TestEdits(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "ab"}: 2, {"ab", "ab"}: 0, {"ab", "ba"}: 1, {"abc", "b"}: 2, {"abcd", "acbd"}: 1,
		{"prot", "port"}: 1, {"kitten", "sitting"}: 3,
	} {
		require.Equal(t, want, edits(pair[0], pair[1]), pair)
		require.Equal(t, want, edits(pair[1], pair[0]), pair)
	}
}
