package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLolwut: pictures have the measures that are asked for, and end with the
// version, which clients read.
func TestLolwut(t *testing.T) {
	_, h, s := newServer(t)
	for _, c := range []struct {
		line        string
		wide, lines int
	}{
		{"LOLWUT VERSION 5", 66, 13},
		{"LOLWUT VERSION 6", 80, 21},
		{"LOLWUT VERSION 5 20 3 4", 20, 5},
		{"LOLWUT VERSION 6 7 2", 7, 3},
		{"LOLWUT VERSION 6 -1 0", 1, 2},
		{"LOLWUT VERSION 6 99999 99999", 1000, 1001},
		{"LOLWUT VERSION 5 99999 1 99999", 1000, 201},
	} {
		text := do(s, c.line)
		require.True(t, strings.HasSuffix(text, "Redis ver. 7.0.15\n"), c.line)
		picture, _, ok := strings.Cut(text, "\n\n")
		require.True(t, ok, c.line)
		lines := strings.Split(picture, "\n")
		require.Len(t, lines, c.lines, c.line)
		for _, line := range lines {
			require.Len(t, line, c.wide, c.line)
		}
	}
	first := do(s, "LOLWUT VERSION 5")
	h.pass(1)
	require.NotEqual(t, first, do(s, "LOLWUT VERSION 5"), "each has a picture of its own")
}
