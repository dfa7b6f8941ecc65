//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testTimeout is real time. It only bounds how long a failure takes, and exceeds
// what any step takes on a busy machine.
const testTimeout = 5 * time.Minute

// binary is the command under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "zlimit")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "zlimit-server")
	build := exec.Command("go", "build", "-pgo=off", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases; a sandbox has no libraries
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build:", err)
		return 1
	}
	return m.Run()
}

// A process is a server that has reported its address.
type process struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	first  string // the first line of its log
	addr   string // of its first listener
	port   string
}

// greeting is the first line, in JSON because the test is no terminal.
var greeting = regexp.MustCompile(`^\{"time":"[^"]+","level":"notice","msg":"zlimit [\d.]+ listens on ` +
	`(\S+?)(, \S+)*; try: redis-cli( \S+)* RL\.ALLOW user:42 100 1m"\}\n$`)

// start runs the command and waits for its first line.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := startAsync(t, args...)
	p.readGreeting(t, p.stdout)
	return p
}

// startAsync runs the command without waiting.
func startAsync(t *testing.T, args ...string) *process {
	t.Helper()
	p := prepare(t, args...)
	p.run(t)
	return p
}

func prepare(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, binary, args...)}
	p.cmd.Stderr = &p.stderr
	p.cmd.Dir = t.TempDir()
	return p
}

// run starts the process and ends it with the test.
func (p *process) run(t *testing.T) {
	t.Helper()
	if p.cmd.Stdout == nil {
		out, err := p.cmd.StdoutPipe()
		require.NoError(t, err)
		p.stdout = bufio.NewReader(out)
	}
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
}

// readGreeting reads the first line of the log. A gateway may find its upstream before that.
func (p *process) readGreeting(t *testing.T, log *bufio.Reader) {
	t.Helper()
	line, err := log.ReadString('\n')
	if strings.Contains(line, "upstream: found") {
		line, err = log.ReadString('\n')
	}
	require.NoError(t, err, "stderr: %s", &p.stderr)
	p.first = line
	m := greeting.FindStringSubmatch(line)
	require.NotNil(t, m, line)
	p.addr = m[1]
	if _, port, err := net.SplitHostPort(p.addr); err == nil {
		p.port = port
	}
}

// anyPort returns arguments for a free port. path is the file that will contain it.
func anyPort(t *testing.T) (args []string, path string) {
	path = filepath.Join(t.TempDir(), "port")
	return []string{"--bind", "127.0.0.1", "--port", "0", "--port-file", path}, path
}

// wait waits for the process and returns the rest of its log.
func (p *process) wait(t *testing.T) (code int, said string) {
	t.Helper()
	rest, err := io.ReadAll(p.stdout)
	require.NoError(t, err)
	_ = p.cmd.Wait() // the exit code suffices
	return p.cmd.ProcessState.ExitCode(), string(rest)
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// dial connects to the server.
func (p *process) dial(t *testing.T) *client {
	t.Helper()
	network := "tcp"
	if p.port == "" {
		network = "unix"
	}
	c, err := net.Dial(network, p.addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(testTimeout)))
	return &client{c, bufio.NewReader(c)}
}

// A client exchanges lines, which is all that these tests need.
type client struct {
	net.Conn
	r *bufio.Reader
}

func (c *client) send(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

func (c *client) line(t *testing.T) string {
	t.Helper()
	line, err := c.r.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\r\n")
}

// ask sends a command whose reply is one line.
func (c *client) ask(t *testing.T, command string) string {
	t.Helper()
	c.send(t, command+"\r\n")
	return c.line(t)
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	args, path := anyPort(t)
	p := start(t, args...)
	require.Contains(t, p.first, "; try: redis-cli -p "+p.port+" RL.ALLOW")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, p.port+"\n", string(text), "the port-file is there before the greeting")
	require.Equal(t, "*5", p.dial(t).ask(t, "RL.ALLOW user:42 100 1m"))
}

// TestHelpIsNarrow checks the size of the help texts, but for a line with one long value: the
// short one fits a screen.
func TestHelpIsNarrow(t *testing.T) {
	for option, lines := range map[string][2]int{"--help": {24, 40}, "--help-all": {300, 600}} {
		var out strings.Builder
		require.Zero(t, run([]string{option}, nil, &out, io.Discard))
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "  --client-output-buffer-limit") {
				require.LessOrEqual(t, len(line)-1, columns, line)
			}
		}
		n := strings.Count(out.String(), "\n")
		require.True(t, lines[0] <= n && n <= lines[1], "%s has %d lines", option, n)
		require.Contains(t, out.String(), "--metrics-addr \"\"")
	}
}

func TestSignalFinishesCommands(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		args, _ := anyPort(t)
		p := start(t, args...)
		const clients, commands = 8, 2000
		conns := make([]*client, clients)
		for i := range conns {
			conns[i] = p.dial(t)
			conns[i].send(t, strings.Repeat("INCR n\r\n", commands))
		}
		idle, half := p.dial(t), p.dial(t)
		half.send(t, "PING\r\nGET")
		require.Equal(t, "+PONG", half.line(t))
		for _, c := range conns {
			c.line(t) // a pipeline sent in one segment has arrived when its first reply does
		}
		p.signal(t, s)
		highest := 0
		for _, c := range conns {
			rest, err := io.ReadAll(c.r)
			require.NoError(t, err)
			replies := strings.Split(strings.TrimSuffix(string(rest), "\r\n"), "\r\n")
			require.Len(t, replies, commands-1)
			last, err := strconv.Atoi(strings.TrimPrefix(replies[len(replies)-1], ":"))
			require.NoError(t, err)
			highest = max(highest, last)
		}
		require.Equal(t, clients*commands, highest, "every command ran once")
		for _, c := range []*client{idle, half} {
			rest, err := io.ReadAll(c.r)
			require.NoError(t, err)
			require.Empty(t, rest)
		}
		code, said := p.wait(t)
		require.Zero(t, code)
		require.Regexp(t, `^.*"(terminated|interrupt): finishing the commands under way"\}\n.*"bye"\}\n$`,
			said)
		require.Empty(t, p.stderr.String())
	}
}

// TestSignalWaitsForReplicas checks that a signal waits for a replica, until SHUTDOWN
// ABORT or a second signal.
func TestSignalWaitsForReplicas(t *testing.T) {
	t.Parallel()
	args, _ := anyPort(t)
	p := start(t, append(args, "--repl-diskless-sync-delay", "0", "--shutdown-timeout", "1000000")...)
	replica, c := p.dial(t), p.dial(t)
	replica.send(t, "PSYNC ? -1\r\n")
	require.Contains(t, replica.line(t), "+FULLRESYNC")
	require.Equal(t, "+OK", c.ask(t, "SET a 1"))
	p.signal(t, syscall.SIGTERM)
	p.awaitLine(t, "waiting for replicas before the shutdown")
	require.Equal(t, "+OK", c.ask(t, "SHUTDOWN ABORT"))
	p.awaitLine(t, "terminated: the server goes on")
	require.Equal(t, "+OK", c.ask(t, "SET a 2"))
	p.signal(t, syscall.SIGTERM)
	p.awaitLine(t, "waiting for replicas before the shutdown")
	p.signal(t, os.Interrupt)
	code, rest := p.wait(t)
	require.Zero(t, code)
	require.Contains(t, rest, "the shutdown leaves replicas behind")
}

// TestSurvivesLossOfLog checks that losing the log's reader does not end the process, as with redis-server.
func TestSurvivesLossOfLog(t *testing.T) {
	t.Parallel()
	args, _ := anyPort(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	q := prepare(t, append(args, "--maxclients", "7")...)
	q.cmd.Stdout = write
	q.run(t)
	require.NoError(t, write.Close())
	q.readGreeting(t, bufio.NewReader(read))
	require.NoError(t, read.Close())
	q.signal(t, syscall.SIGTERM)
	_ = q.cmd.Wait()
	require.Zero(t, q.cmd.ProcessState.ExitCode(), q.cmd.ProcessState)
}
