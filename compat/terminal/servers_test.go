package terminal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/lab/abuse"
	"github.com/zlimit/zlimit/oracle"
)

// The servers that all tests use. Tests that write do so in database 1 and above.
var ours, theirs *server

// A server is one of the two.
type server struct {
	name string
	*abuse.Process
	port string
}

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	for _, tool := range []string{"tmux", "redis-cli", "redis-benchmark"} {
		if _, err := exec.LookPath(tool); err != nil {
			return 1, fmt.Errorf("%w (Debian: tmux, redis-tools)", err)
		}
	}
	if err := oracle.FindRealTime(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "servers")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program, err := abuse.BuildServer(dir)
	if err != nil {
		return 1, err
	}
	if ours, err = start("zlimit-server", program, dir); err != nil {
		return 1, err
	}
	defer ours.Stop()
	if theirs, err = start("redis-server", "redis-server", dir); err != nil {
		return 1, err
	}
	defer theirs.Stop()
	return m.Run(), nil
}

// start starts a server and fills it. Stamps of LFU make --hotkeys work.
func start(name, program, dir string) (*server, error) {
	process, err := abuse.Start(context.Background(), program, dir, &abuse.Row{Directives: []string{
		"--dir", dir, "--maxmemory-policy", "allkeys-lfu",
	}})
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(process.Addr, ":")
	s := &server{name, process, port}
	if err := s.fill(); err != nil {
		process.Stop()
		return nil, err
	}
	return s, nil
}

// fill stores keys of each type. The biggest of a type are much bigger than others, and
// one key is read much more often.
func (s *server) fill() error {
	c, err := abuse.Dial(s.Addr, "")
	if err != nil {
		return err
	}
	defer c.Close()
	var commands [][]string
	for i := range 30 {
		n := fmt.Sprint(i)
		commands = append(commands,
			[]string{"SET", "text:" + n, "v"}, []string{"RPUSH", "list:big", n},
			[]string{"SADD", "set:big", "e" + n},
			[]string{"ZADD", "zset:big", n, "m" + n}, []string{"HSET", "hash:big", "f" + n, "v"})
	}
	commands = append(commands,
		[]string{"SET", "text:big", strings.Repeat("x", 2000)}, []string{"RPUSH", "list:small", "a"},
		[]string{"SADD", "set:small", "a"}, []string{"ZADD", "zset:small", "1.5", "a"},
		[]string{"HSET", "hash:small", "f", "v"})
	for range 3000 { // counters of LFU grow by chance: 300 reads and 30 writes can end alike
		commands = append(commands, []string{"GET", "text:7"})
	}
	for _, args := range commands {
		if _, err := c.Do(args...); err != nil {
			return fmt.Errorf("%s: %w", args, err)
		}
	}
	return nil
}

// command returns the shell command of a tool against the server.
func (s *server) command(tool, args string) string { return tool + " -p " + s.port + " " + args }

// hidePort replaces the server's port, which the prompt shows.
func (s *server) hidePort(screen string) string { return strings.ReplaceAll(screen, s.port, "PORT") }

// onBoth runs fn with both servers and requires the same result.
func onBoth(t *testing.T, fn func(t *testing.T, s *server) string) {
	t.Helper()
	want := theirs.hidePort(fn(t, theirs))
	got := ours.hidePort(fn(t, ours))
	require.Equal(t, want, got)
}
