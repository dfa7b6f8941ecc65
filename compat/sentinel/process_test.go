package sentinel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/lab/abuse"
)

// patience is far more than anything here takes on a busy machine.
const patience = 90 * time.Second

// await waits until check returns nil.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(patience); ; <-retry.C {
		err := check()
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s: %v", what, err)
	}
}

// The programs of servers, by the names that tests use.
const (
	zlimit = "zlimit-server"
	redis7 = "redis-server"
)

// paths has the path of each program; TestMain fills it in.
var paths = map[string]string{}

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	logging.Disable() // go-redis' own log: a line for each connection that is refused
	if _, err := exec.LookPath("redis-sentinel"); err != nil {
		fmt.Println("skipped: redis-sentinel is not installed (Debian: redis-sentinel)")
		return 0, nil
	}
	if paths[redis7], err = exec.LookPath(redis7); err != nil {
		return 1, fmt.Errorf("%w (Debian: redis-server)", err)
	}
	dir, err := os.MkdirTemp("", "sentinel")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if paths[zlimit], err = abuse.BuildServer(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

var handedOut sync.Map // ports that freePorts has returned

// freePorts returns ports of loopback where nobody listens, each once: Sentinels of two sets that know a
// master by one address would make one set of them. They are below those that the system gives to
// connections.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	const from, to = 20_000, 32_000
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		require.Less(t, tries, 10_000, "no port is free")
		port := from + rand.IntN(to-from)
		if _, taken := handedOut.LoadOrStore(port, true); taken {
			continue
		}
		l, err := net.Listen("tcp4", addr(port))
		if err != nil {
			continue
		}
		l.Close()
		ports = append(ports, port)
	}
	return ports
}

// A process is a server or a sentinel with a folder and a configuration file.
type process struct {
	name   string
	path   string
	port   int
	config string // path of the file
	cmd    *exec.Cmd
	gone   chan struct{} // closed when it has ended
}

// newProcess writes the configuration file of a process that listens on port, as the directives say.
func newProcess(t *testing.T, name, path string, port int, directives []string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{name: name, path: path, port: port, config: filepath.Join(dir, "server.conf")}
	lines := append([]string{"# " + name, "bind 127.0.0.1", "dir " + dir}, directives...)
	require.NoError(t, os.WriteFile(p.config, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s on port %d logged:\n%s", name, port, lastLines(p.log(), 25))
		}
	})
	return p
}

func (p *process) log() string { return filepath.Join(filepath.Dir(p.config), "log") }

// start starts the process with its file as that is now.
func (p *process) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	defer log.Close()
	p.cmd = exec.Command(p.path, p.config)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	require.NoError(t, p.cmd.Start())
	gone := make(chan struct{})
	p.gone = gone
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // killed
		close(gone)
	}(p.cmd)
}

// kill ends the process by SIGKILL, if it runs.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.gone
}

// signal sends a signal to the process.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// ended returns an error if the process does not run.
func (p *process) ended() error {
	select {
	case <-p.gone:
		return errors.New(p.name + " has ended")
	default:
		return nil
	}
}

// lines returns the lines of the configuration file whose first word is the directive.
func (p *process) lines(directive string) ([]string, error) {
	text, err := os.ReadFile(p.config)
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && strings.EqualFold(words[0], directive) {
			found = append(found, strings.Join(words, " "))
		}
	}
	return found, nil
}

func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
