package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartupMatchesRedis runs testdata/startup.txt. In a case
//
//	$ is the command line; a leading FILE stands for the file
//	| are the lines of that file, a final \ meaning no line end
//	+ is a line of other.conf in the same directory
//	^ are the lines of stdin
//	? are arguments of CONFIG GET afterwards; none if the start fails
func TestStartupMatchesRedis(t *testing.T) {
	file := caseFile("startup.txt")
	cases := readCases(t, file)
	for _, c := range cases {
		t.Run(strings.Join(c.lines, " "), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			args, stdin := writeFiles(t, c, dir)
			if *record {
				c.redis = startRedisCase(t, c, dir, args, stdin)
			}
			config := New()
			err := config.ParseArgs(args, strings.NewReader(stdin))
			c.compare(t, startOurCase(t, c, dir, config, err))
		})
	}
	if *record {
		writeCases(t, file, cases)
	}
}

// writeFiles writes a case's files and returns the arguments and stdin.
func writeFiles(t *testing.T, c *recordedCase, dir string) (args []string, stdin string) {
	t.Helper()
	line := c.marked("$")[0]
	line, hasFile := strings.CutPrefix(line, "FILE")
	if hasFile {
		args = append(args, filepath.Join(dir, "zlimit.conf"))
		text := strings.Join(c.marked("|"), "\n") + "\n"
		text = strings.TrimSuffix(text, "\\\n")
		require.NoError(t, os.WriteFile(args[0], []byte(text), 0o600))
	}
	if other := c.marked("+"); other != nil {
		text := strings.Join(other, "\n") + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "other.conf"), []byte(text), 0o600))
	}
	if lines := c.marked("^"); lines != nil {
		stdin = strings.Join(lines, "\n") + "\n"
	}
	return append(args, wordsOf(t, line)...), stdin
}

func startRedisCase(t *testing.T, c *recordedCase, dir string, args []string, stdin string) []string {
	t.Helper()
	queries := c.marked("?")
	socket := filepath.Join(dir, "s")
	if queries != nil {
		// In front of the options, so that a last option without a value and a
		// final - stay last.
		own := []string{"--port", "0", "--unixsocket", socket}
		at := 0
		if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || args[0] == "-") {
			at = 1
		}
		args = append(append(append([]string(nil), args[:at]...), own...), args[at:]...)
	}
	r, output := startRedis(t, dir, socket, strings.NewReader(stdin), args...)
	if queries == nil {
		require.Nil(t, r, "redis-server accepts it: the case needs a ? line")
		return startError(output, dir)
	}
	require.NotNil(t, r, output)
	var lines []string
	for _, query := range queries {
		lines = append(lines,
			formatPairs(r.do(t, append([]string{"CONFIG", "GET"}, wordsOf(t, query)...)...))...)
	}
	r.do(t, "CONFIG", "SET", "save", "") // no save at exit
	return lines
}

func startOurCase(t *testing.T, c *recordedCase, dir string, config *Config, err error) []string {
	t.Helper()
	if err == nil {
		var lines []string
		for _, query := range c.marked("?") {
			lines = append(lines, get(config, wordsOf(t, query))...)
		}
		return lines
	}
	var line *FileError
	var open *OpenError
	require.True(t, errors.As(err, &line) || errors.As(err, &open), "%v", err)
	require.Equal(t, New().values, config.values, "a failed start leaves nothing behind")
	return startError(err.Error(), dir)
}
