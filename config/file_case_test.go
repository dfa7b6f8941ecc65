package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fileCase is a recordedCase with a command line and files, in a directory of its own,
// which is the working directory. Of its lines
//
//	$ is the command line; a leading FILE stands for the file
//	| are the lines of that file, a final \ meaning no line end
//	+ is a line of other.conf in the same directory
//	^ are the lines of stdin
type fileCase struct {
	*recordedCase
	dir   string
	args  []string
	stdin string
}

// runFileCases runs every case of a file of testdata. With -record it writes the file again,
// with the replies that run has set.
func runFileCases(t *testing.T, name string, run func(*testing.T, *fileCase)) {
	t.Helper()
	file := caseFile(name)
	cases := readCases(t, file)
	for _, c := range cases {
		t.Run(strings.Join(c.lines, " "), func(t *testing.T) {
			run(t, newFileCase(t, c))
		})
	}
	if *record {
		writeCases(t, file, cases)
	}
}

// newFileCase writes the files of a case.
func newFileCase(t *testing.T, recorded *recordedCase) *fileCase {
	t.Helper()
	c := &fileCase{recordedCase: recorded, dir: t.TempDir()}
	t.Chdir(c.dir)
	line, hasFile := strings.CutPrefix(c.marked("$")[0], "FILE")
	if hasFile {
		c.args = append(c.args, filepath.Join(c.dir, "zlimit.conf"))
		text := strings.Join(c.marked("|"), "\n") + "\n"
		text = strings.TrimSuffix(text, "\\\n")
		require.NoError(t, os.WriteFile(c.args[0], []byte(text), 0o600))
	}
	if other := c.marked("+"); other != nil {
		text := strings.Join(other, "\n") + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(c.dir, "other.conf"), []byte(text), 0o600))
	}
	if lines := c.marked("^"); lines != nil {
		c.stdin = strings.Join(lines, "\n") + "\n"
	}
	c.args = append(c.args, wordsOf(t, line)...)
	return c
}
