package proxies

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block returns the first code block of a language in docs/front-doors.md.
func block(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/front-doors.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "\n```"+language+"\n")
	require.True(t, found, language)
	text, _, found := strings.Cut(after, "\n```\n")
	require.True(t, found, language)
	return text + "\n"
}

// replace replaces each of pairs in text, which must have it.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, text, pairs[i])
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
