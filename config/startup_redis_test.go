package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartupAsRedis performs testdata/startup.txt. In a case
//
//	$ is the command line; FILE in front of it stands for the file
//	| are the lines of that file, \ at the end of the last one for no line end
//	+ is a line of other.conf beside it
//	^ are the lines of stdin
//	? is what CONFIG GET is asked afterwards; none where the start fails
func TestStartupAsRedis(t *testing.T) {
	file := caseFile("startup.txt")
	cases := readCases(t, file)
	for _, c := range cases {
		t.Run(strings.Join(c.lines, " "), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			args, stdin := layOut(t, c, dir)
			if *record {
				c.redis = startupOfRedis(t, c, dir, args, stdin)
			}
			config := New()
			err := config.ParseArgs(args, strings.NewReader(stdin))
			c.compare(t, startupOfOurs(t, c, dir, config, err))
		})
	}
	if *record {
		writeCases(t, file, cases)
	}
}

// layOut writes a case's files and returns the arguments and stdin.
func layOut(t *testing.T, c *aCase, dir string) (args []string, stdin string) {
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

func startupOfRedis(t *testing.T, c *aCase, dir string, args []string, stdin string) []string {
	t.Helper()
	asks := c.marked("?")
	socket := filepath.Join(dir, "s")
	if asks != nil {
		// In front of the options, so that a last one without a value stays
		// so, and a - stays the last.
		own := []string{"--port", "0", "--unixsocket", socket}
		at := 0
		if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || args[0] == "-") {
			at = 1
		}
		args = append(append(append([]string(nil), args[:at]...), own...), args[at:]...)
	}
	r, output := startRedis(t, dir, socket, strings.NewReader(stdin), args...)
	if asks == nil {
		require.Nil(t, r, "redis-server took it: say what to ask it")
		return complaint(output, dir)
	}
	require.NotNil(t, r, output)
	var lines []string
	for _, ask := range asks {
		lines = append(lines, shown(r.ask(t, append([]string{"CONFIG", "GET"}, wordsOf(t, ask)...)...))...)
	}
	r.ask(t, "CONFIG", "SET", "save", "") // nothing to write on the way out
	return lines
}

func startupOfOurs(t *testing.T, c *aCase, dir string, config *Config, err error) []string {
	t.Helper()
	if err == nil {
		var lines []string
		for _, ask := range c.marked("?") {
			lines = append(lines, getForTest(config, wordsOf(t, ask))...)
		}
		return lines
	}
	var line *FileError
	var open *OpenError
	require.True(t, errors.As(err, &line) || errors.As(err, &open), "%v", err)
	require.Equal(t, New().values, config.values, "a failed start leaves nothing behind")
	return complaint(err.Error(), dir)
}
