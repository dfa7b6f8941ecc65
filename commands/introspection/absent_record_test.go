package introspection

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/resp"
)

// commandsFile lists the commands and subcommands of Redis with their groups, one a line.
// docs/absent.md is generated from it.
const commandsFile = "testdata/commands.txt"

// TestRecordedCommandsAreRedis compares the recording with a redis-server of that
// version; -record-introspection rewrites it.
func TestRecordedCommandsAreRedis(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("no redis-server is installed: ", err)
	}
	docs := startRedis(t, resp.RESP3)([]string{"COMMAND", "DOCS"})
	lines := groupsOf(docs)
	slices.Sort(lines)
	want := fmt.Sprintf("# Commands and groups of redis-server %s, by COMMAND DOCS.\n%s\n", recordedVersion,
		strings.Join(lines, "\n"))
	if *recordIntrospection {
		require.NoError(t, os.WriteFile(commandsFile, []byte(want), 0o644))
	}
	text, err := os.ReadFile(commandsFile)
	require.NoError(t, err)
	require.Equal(t, want, string(text))
}

// groupsOf reads a map of commands to their documentation, subcommands included.
func groupsOf(docs resp.Value) (out []string) {
	for i := 0; i < len(docs.Elems()); i += 2 {
		fields := docs.Elems()[i+1].Elems()
		for f := 0; f < len(fields); f += 2 {
			switch fields[f].Str() {
			case "group":
				out = append(out, docs.Elems()[i].Str()+" "+fields[f+1].Str())
			case "subcommands":
				out = append(out, groupsOf(fields[f+1])...)
			}
		}
	}
	return out
}
