package zlimit_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest"
)

// newerRow is a row of docs/absent.md about what is newer than Redis 7.0: a command, and what it is answered.
var newerRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| `([^`]+)` \\|")

// TestNewerCommands checks that docs/absent.md has the exact errors of what later Redis and Valkey have, but
// for the arguments of unknown commands.
func TestNewerCommands(t *testing.T) {
	text, err := os.ReadFile("docs/absent.md")
	require.NoError(t, err)
	rows := newerRow.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(rows), 15)
	for _, row := range rows {
		srv := zlimittest.RunT(t)
		var args []any
		for word := range strings.FieldsSeq(row[1]) {
			args = append(args, word)
		}
		_, err := srv.TryDo(args...)
		require.Error(t, err, row[1])
		got, _, _ := strings.Cut(err.Error(), ", with args beginning with: '")
		require.Equal(t, row[2], strings.TrimSpace(got), row[1])
	}
}
