package browser

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timeout bounds, in real time, how long a test waits for what does not come.
const timeout = time.Minute

// binary is the server that the tests start.
var binary string

var given = flag.String("server", "", "the server's binary; empty: the tests build it")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		if *given != "" {
			binary = *given
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "zlimit-browser")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "zlimit-server")
		build := exec.Command("go", "build", "-pgo=off", "-o", binary, "./cmd/zlimit-server")
		build.Dir, build.Stderr = "../..", os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot build the server:", err)
			return 1
		}
		return m.Run()
	}())
}

// A zserver is a zlimit-server with a page.
type zserver struct {
	t    *testing.T
	host string // of the page, host:port
	conn net.Conn
	in   *bufio.Reader
}

// startServer starts a server until the test ends.
func startServer(t *testing.T, args ...string) *zserver {
	t.Helper()
	dir := t.TempDir()
	portFile := filepath.Join(dir, "port")
	cmd := exec.Command(binary, append([]string{
		"--port", "0", "--port-file", portFile, "--metrics-addr", "0", "--dir", dir,
	}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &zserver{t: t}
	lines := bufio.NewReader(out)
	for s.host == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, line)
		if _, rest, ok := strings.Cut(line, "page at http://"); ok {
			s.host, _, _ = strings.Cut(rest, "/")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	port, err := os.ReadFile(portFile)
	require.NoError(t, err)
	s.conn, err = net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(string(port)))
	require.NoError(t, err)
	t.Cleanup(func() { s.conn.Close() })
	s.in = bufio.NewReader(s.conn)
	return s
}

// do sends a command and returns its reply: its text, or its elements one per line.
func (s *zserver) do(args ...string) string {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	require.NoError(s.t, s.conn.SetDeadline(time.Now().Add(timeout)))
	_, err := io.WriteString(s.conn, b.String())
	require.NoError(s.t, err)
	return s.reply()
}

func (s *zserver) reply() string {
	s.t.Helper()
	line, err := s.in.ReadString('\n')
	require.NoError(s.t, err)
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	n, _ := strconv.Atoi(rest)
	switch {
	case kind == '$' && n >= 0:
		text := make([]byte, n+2)
		_, err := io.ReadFull(s.in, text)
		require.NoError(s.t, err)
		return string(text[:n])
	case kind == '*':
		var out []string
		for range n {
			out = append(out, s.reply())
		}
		return strings.Join(out, "\n")
	}
	return rest
}

// info returns a field of INFO.
func (s *zserver) info(field string) string {
	s.t.Helper()
	for line := range strings.SplitSeq(s.do("INFO", "everything"), "\r\n") {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return value
		}
	}
	require.Fail(s.t, "INFO has no "+field)
	return ""
}

// traffic makes decisions by several algorithms, some of them denials.
func (s *zserver) traffic() {
	s.t.Helper()
	for i := range 40 {
		s.do("RL.ALLOW", fmt.Sprintf("user:%d", i%7), "4", "10s")
		s.do("RL.ALLOW", "api:search", "20", "1m")
		s.do("RL.ALLOW", "login:192.0.2.7", "5", "1m", "ALGO", "FIXED")
		s.do("RL.ALLOW", "upload", "100", "1h", "ALGO", "GCRA", "5")
	}
}
