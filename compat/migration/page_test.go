package migration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPage types the blocks of docs/migration.md's walk, with free ports in the place of its own and without
// Redis' wait for further replicas.
func TestPage(t *testing.T) {
	for _, tool := range []string{"redis-server", "redis-cli", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the page needs ", tool)
		}
	}
	page, err := os.ReadFile("../../docs/migration.md")
	require.NoError(t, err)
	_, walk, found := strings.Cut(string(page), "\n## Walk through it on one machine\n")
	require.True(t, found)
	walk, _, _ = strings.Cut(walk, "\n## ")
	walk = strings.ReplaceAll(walk, "sleep 1\n", "until redis-cli -p 7001 PING; do :; done\n")
	walk = strings.NewReplacer("7001", freePort(t), "7002", freePort(t),
		"redis-server ", "redis-server --repl-diskless-sync-delay 0 ").Replace(walk)
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(walk, -1) {
		blocks = append(blocks, m[1])
	}
	require.Len(t, blocks, 7) // the last but one is another way

	dir := t.TempDir()
	require.NoError(t, os.Symlink(zlimit, filepath.Join(dir, "zlimit-server")))
	run := func(block string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", block)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		return string(out), err
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, name := range []string{"redis.pid", "zlimit.pid"} {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	for _, block := range blocks[:2] {
		_, err := run(block)
		require.NoError(t, err, block)
	}
	await(t, blocks[2], func() error {
		printed, err := run(blocks[2])
		if !strings.Contains(printed, "master_link_status:up") || !strings.HasSuffix(printed, "\n2\n2\n") {
			return errors.Join(fmt.Errorf("it prints %q", printed), err)
		}
		return nil
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "switch.sh"), []byte(blocks[3]), 0o600))
	printed, err := run(blocks[4])
	require.NoError(t, err)
	require.Regexp(t, `(?s)^OK\nOK\nOK\nOK\nmaster\n.*\n3[56]\d\d\n`+
		`READONLY You can't write against a read only replica\.\n`, printed)
	_, err = run(blocks[6])
	require.NoError(t, err)
}

// freePort returns a port that was free just now.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
