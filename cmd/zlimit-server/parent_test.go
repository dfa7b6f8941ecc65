//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// startChild runs the command with a pipe as its standard input and waits for its ready
// line, which it returns with the end of the pipe.
func startChild(t *testing.T, args ...string) (p *process, stdin io.WriteCloser, ready string) {
	t.Helper()
	p = prepare(t, append([]string{"--ready-line", "yes", "--exit-with-stdin", "yes"}, args...)...)
	stdin, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	p.run(t)
	for {
		line, err := p.stdout.ReadString('\n')
		require.NoError(t, err, "stderr: %s", &p.stderr)
		if strings.HasPrefix(line, "ready ") {
			return p, stdin, line
		}
	}
}

// TestReadyLine checks what a program that has started the server learns from it.
func TestReadyLine(t *testing.T) {
	t.Parallel()
	args, path := anyPort(t)
	p, stdin, ready := startChild(t, args...)
	port, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, `^ready port=`+strings.TrimSpace(string(port))+` pid=\d+ version=[\w.+-]+\n$`, ready)
	p.addr, p.port = "127.0.0.1:"+strings.TrimSpace(string(port)), strings.TrimSpace(string(port))
	c := p.dial(t)
	require.Equal(t, "+PONG", c.ask(t, "PING"))
	_, err = io.WriteString(stdin, "what is written is discarded\n")
	require.NoError(t, err)
	require.Equal(t, "+PONG", c.ask(t, "PING"))
	require.NoError(t, stdin.Close())
	code, said := p.wait(t)
	require.Zero(t, code)
	require.Contains(t, said, "standard input has ended: finishing the commands under way")
}

// TestEmbeddingPage starts the server as docs/embedding.md says.
func TestEmbeddingPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/embedding.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\nzlimit-server (.*?)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 1)
	args := strings.Fields(strings.ReplaceAll(string(blocks[0][1]), "\\\n", " "))
	for _, own := range []string{"--ready-line", "--exit-with-stdin"} { // startChild has them
		i := slices.Index(args, own)
		require.GreaterOrEqual(t, i, 0, own)
		args = slices.Delete(args, i, i+2)
	}
	p, stdin, ready := startChild(t, args...)
	p.port = regexp.MustCompile(`port=(\d+)`).FindStringSubmatch(ready)[1]
	p.addr = "127.0.0.1:" + p.port
	c := p.dial(t)
	for _, command := range regexp.MustCompile("(?m)^\\| `(DEBUG CLOCK .*?)` \\|").FindAllSubmatch(page, -1) {
		words := strings.NewReplacer("unix-ms", "1800000000000", "ms", "60000").Replace(string(command[1]))
		require.Equal(t, "+OK", c.ask(t, words), words)
	}
	const fault = "DEBUG FAULT INJECT NOSCRIPT ON EVALSHA"
	for _, words := range []string{fault, "DEBUG FAULT CLEAR", "DEBUG RESET"} {
		require.Regexp(t, `^(\+OK|:1)$`, c.ask(t, words), words)
	}
	require.NoError(t, stdin.Close())
	code, _ := p.wait(t)
	require.Zero(t, code)
}

// TestOrphan checks that a server ends after its parent was killed by SIGKILL.
func TestOrphan(t *testing.T) {
	t.Parallel()
	args, _ := anyPort(t)
	// The shell is the parent: it keeps the other end of the pipe open, and has the server
	// write to the test's pipe.
	parent := exec.Command("/bin/sh", append([]string{
		"-c", `mkfifo pipe; exec 3<>pipe; "$@" <pipe 3>&- & wait`, "sh", binary,
		"--ready-line", "yes", "--exit-with-stdin", "yes",
	}, args...)...)
	parent.Dir = t.TempDir()
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	in := bufio.NewReader(out)
	for line := ""; !strings.HasPrefix(line, "ready "); {
		line, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, parent.Process.Signal(syscall.SIGKILL))
	rest, err := io.ReadAll(in) // ends when the server does
	require.NoError(t, err)
	require.Contains(t, string(rest), "standard input has ended")
	_ = parent.Wait()
}
