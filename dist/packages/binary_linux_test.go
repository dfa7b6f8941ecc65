package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunsWithoutLibraries runs the server where nothing else is: neither glibc nor musl, no
// /etc, /proc or /tmp. What wheels call musllinux, it is.
func TestRunsWithoutLibraries(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root directory")
	}
	t.Parallel()
	f := testFrame(t)
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "zlimit-server"), f.binaries[host], 0o755))
	cmd := exec.Command("/zlimit-server", "--bind", "127.0.0.1", "--port", "0", "--ready-line", "yes",
		"--exit-with-stdin", "yes", "--log-format", "text")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
	}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	var log strings.Builder
	port := ""
	lines := bufio.NewScanner(stdout)
	for port == "" && lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if rest, ok := strings.CutPrefix(lines.Text(), "ready port="); ok {
			port, _, _ = strings.Cut(rest, " ")
		}
	}
	require.NotEmpty(t, port, log.String())
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	_, err = conn.Write([]byte("RL.ALLOW user:42 3 1m\r\n"))
	require.NoError(t, err)
	reply, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "*5\r\n", reply)
	require.NoError(t, conn.Close())
	require.NoError(t, stdin.Close())
	_, err = io.Copy(io.Discard, stdout)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, left, 1, "the binary alone")
}
