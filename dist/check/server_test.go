package check

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const timeout = 2 * time.Minute

// counted matches a scrape after a round of the sampler that has found hits.
var counted = regexp.MustCompile(`(?m)^zlimit_hits\{kind="log"\} [1-9]`)

// scrapes starts a server with what has metrics of its own, sends it commands, and
// returns two scrapes with calls in between.
func scrapes(t *testing.T) (first, second string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "zlimit-server-"+runtime.GOOS+"-"+runtime.GOARCH)
	out, err := exec.Command("go", "run", "../release", "-source", "../../", // as in image: it is cached
		"-only", runtime.GOOS+"/"+runtime.GOARCH, "-pgo=off", "-out", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "--bind", "127.0.0.1", "--port", "0", "--port-file", "port",
		"--dir", dir, "--appendonly", "yes", "--maxmemory", "100mb", "--metrics-addr", "127.0.0.1:0",
		"--rl-max-keys-per-prefix", "tenant:", "10", "--rl-stats-prefix", "tenant:")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	log := bufio.NewReader(stdout)
	line := func(part string) string {
		for {
			text, err := log.ReadString('\n')
			require.NoError(t, err)
			if _, after, ok := strings.Cut(text, part); ok {
				return after
			}
		}
	}
	address, _, _ := strings.Cut(line(" listens on "), ";")
	url, _, _ := strings.Cut(line("metrics at "), `"`)
	go func() { _, _ = io.Copy(io.Discard, log) }()

	client, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer client.Close()
	send(t, client)
	// Keys are counted by a sampler, some time after they were made.
	for !counted.MatchString(first) {
		require.NoError(t, ctx.Err(), "no sample was taken")
		first = scrape(t, url)
	}
	send(t, client)
	return first, scrape(t, url)
}

// send sends decisions of each algorithm and other commands, and waits until they are counted.
func send(t *testing.T, client net.Conn) {
	t.Helper()
	commands := []string{
		"RL.ALLOW tenant:a 2 1h", "RL.ALLOW tenant:a 2 1h", "RL.ALLOW tenant:a 2 1h",
		"RL.ALLOW f 1 1h ALGO FIXED", "RL.ALLOW b 9 1h ALGO BUCKETS 3", "RL.ALLOW c 9 1h ALGO COUNTER",
		"RL.ALLOW g 9 1h ALGO GCRA 1", "SET k v", "NOSUCH",
	}
	replies := bufio.NewReader(client)
	// A connection counts what it has run after it has replied, and before it reads on.
	end := "ECHO the-end\r\n"
	for _, lines := range []string{strings.Join(commands, "\r\n") + "\r\n" + end, end} {
		_, err := io.WriteString(client, lines)
		require.NoError(t, err)
		for line := ""; line != "the-end\r\n"; {
			line, err = replies.ReadString('\n')
			require.NoError(t, err)
		}
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}
