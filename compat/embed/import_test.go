package embed_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// moved is the one line that changes in a move from miniredis.
var moved = [2]string{
	"\t\"github.com/alicebob/miniredis/v2\"", "\t\"github.com/zlimit/zlimit/zlimittest/miniredis\"",
}

// otherLines returns the pairs of lines in which two files differ, except the import.
func otherLines(before, after string) (pairs [][2]string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range max(len(a), len(b)) {
		var pair [2]string
		if i < len(a) {
			pair[0] = a[i]
		}
		if i < len(b) {
			pair[1] = b[i]
		}
		if pair[0] != pair[1] && pair != moved {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

func TestBeforeAndAfterDifferInTheImport(t *testing.T) {
	before, err := os.ReadFile("before/window_test.go")
	require.NoError(t, err)
	after, err := os.ReadFile("after/window_test.go")
	require.NoError(t, err)
	require.Empty(t, otherLines(string(before), string(after)))
	require.Contains(t, string(before), moved[0]+"\n")
	require.Contains(t, string(after), moved[1]+"\n")
	require.NotEmpty(t, otherLines(string(before), strings.Replace(string(after), "3", "4", 1)))
	require.NotEmpty(t, otherLines(string(before), string(after)+"\n// more"))
}
