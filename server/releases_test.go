package server_test

import (
	"archive/zip"
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// releaseCommit is what stands for 0.1.0: the last commit whose logs have an entry for each unit.
const releaseCommit = "d781e177"

// TestReleases runs testdata/releases, in the format of TestNodes, on servers of today and of 0.1.0, whose
// program is built from the repository.
func TestReleases(t *testing.T) {
	t.Parallel()
	runNodes(t, "testdata/releases/*.cases", buildRelease(t, releaseCommit))
}

// buildRelease builds the server as it was at a commit. It skips the test if the clone does not have it.
func buildRelease(t *testing.T, commit string) (program string) {
	t.Helper()
	if out, err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("there is no 0.1.0 to build: commit %s is not in this clone, which may be shallow: %v\n%s",
			commit, err, out)
	}
	dir := t.TempDir()
	archive, tree := filepath.Join(dir, "tree.zip"), filepath.Join(dir, "tree")
	program = filepath.Join(dir, "zlimit-server")
	command := func(name string, args ...string) {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, "%s %v\n%s", name, args, out)
	}
	command("git", "-C", "..", "archive", "--format=zip", "-0", "-o", archive, commit,
		".", ":!compat", ":!lab", ":!docs", ":(glob,exclude)**/testdata/**", ":(glob,exclude)**/*_test.go")
	files, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer files.Close()
	require.NoError(t, os.CopyFS(tree, files))
	// With -trimpath packages are those of the build before, wherever that was.
	command("go", "build", "-C", tree, "-trimpath", "-buildvcs=false", "-pgo=off", "-ldflags=-s -w",
		"-o", program, "./cmd/zlimit-server")
	return program
}

var releaseReady = regexp.MustCompile(`^ready port=(\d+) `)

// startRelease starts a program, which ends when its standard input does: also if the test is killed.
func (n *node) startRelease(t *testing.T, program string, directives []string) {
	cmd := exec.Command(program, append([]string{
		"--bind", "127.0.0.1", "--port", "0", "--ready-line", "yes", "--exit-with-stdin", "yes",
		"--save", "", "--dir", t.TempDir(),
	}, directives...)...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var said strings.Builder
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	log := bufio.NewReader(io.TeeReader(out, &said))
	for ready := []string(nil); ready == nil; {
		line, err := log.ReadString('\n')
		if err != nil {
			_ = cmd.Wait() // its log says more
			require.NoError(t, err, "0.1.0 has not started: %s", &said)
		}
		if ready = releaseReady.FindStringSubmatch(line); ready != nil {
			n.addr = net.JoinHostPort("127.0.0.1", ready[1])
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, log) // a full pipe would stop it
	}()
	n.end = sync.OnceFunc(func() {
		late := time.AfterFunc(fabricTimeout, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		require.NoError(t, in.Close())
		<-ended
		require.NoError(t, cmd.Wait(), "0.1.0: %s", &said)
	})
}

// restore makes n have keys of another node, each with its deadline.
func (r *nodesRun) restore(n, from *node, keys []string) {
	r.t.Helper()
	for _, key := range keys {
		require.NoError(r.t, from.send([][]byte{[]byte("DUMP"), []byte(key)}))
		reply, err := from.readReply()
		require.NoError(r.t, err)
		_, payload, _ := strings.Cut(string(reply), "\r\n")
		at := from.call(r.t, "PEXPIRETIME", key)[1:]
		require.Equal(r.t, "+OK",
			n.call(r.t, "RESTORE", key, at, strings.TrimSuffix(payload, "\r\n"), "ABSTTL"), key)
	}
}
