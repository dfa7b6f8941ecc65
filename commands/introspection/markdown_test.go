package introspection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkdown(t *testing.T) {
	text := Markdown(testTable())
	require.Contains(t, text, "| GET | `key` | 1.0.0 |  |\n")
	require.Contains(t, text, "| EXPIRE | `key seconds [NX \\| XX \\| GT \\| LT]` | 1.0.0 |  |\n")
	require.Contains(t, text, "| CLUSTER KEYSLOT | `key` | 3.0.0 | answers without a cluster")
	require.NotContains(t, text, "| OBJECT |", "a container alone is no command")
	require.Contains(t, text, "| CLUSTER HELP |  | 5.0.0 |  |\n")
	require.Contains(t, text, "| OBJECT HELP |  | 6.2.0 |  |\n")
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		require.Equal(t, 5, strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"), line)
	}
}
