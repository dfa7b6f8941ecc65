package nodes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Patience is far more than anything here takes on a busy machine.
const Patience = 90 * time.Second

// Await calls check until it returns nil, for as long as Patience.
func Await(ctx context.Context, what string, check func() error) error {
	return awaitFor(ctx, Patience, what, check)
}

func awaitFor(ctx context.Context, patience time.Duration, what string, check func() error) error {
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(patience); ; {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}

// Ports are chosen below those that systems choose for connections, so that nobody takes one while its server
// is away.
const firstPort, lastPort = 10_000, 32_000

// freePorts returns ports of loopback where nobody listens.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp4", Addr(port))
		if err != nil {
			continue
		}
		defer l.Close() // not before all are chosen
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("no %d ports from %d to %d are free", n, firstPort, lastPort)
}

// Addr returns the address of a port of loopback.
func Addr(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// A Process is a server with a folder and a configuration file. It can be started again
// with the same file after it has ended.
type Process struct {
	Name string
	Port int
	Dir  string

	path    string
	cmd     *exec.Cmd
	gone    chan struct{} // closed when it has ended
	stopped bool
}

// NewProcess writes the configuration file of a server that listens on port.
func NewProcess(name, path, dir string, port int, directives []string) (*Process, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := &Process{Name: name, Port: port, Dir: dir, path: path}
	lines := append([]string{
		"bind 127.0.0.1", "port " + strconv.Itoa(port), "dir " + dir, `save ""`,
	}, directives...)
	return p, os.WriteFile(p.config(), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func (p *Process) config() string { return filepath.Join(p.Dir, "server.conf") }

func (p *Process) logPath() string { return filepath.Join(p.Dir, "log") }

// Start starts the process.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.config())
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	p.cmd, p.gone, p.stopped = cmd, gone, false
	go func() {
		_ = cmd.Wait() // killed
		close(gone)
	}()
	return nil
}

// Kill ends the process by SIGKILL, if it runs.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.gone
}

// Stop keeps the process from running, by SIGSTOP, until Continue.
func (p *Process) Stop() error {
	p.stopped = true
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

// Continue lets a stopped process run.
func (p *Process) Continue() error {
	p.stopped = false
	return p.cmd.Process.Signal(syscall.SIGCONT)
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Running returns an error if the process does not run.
func (p *Process) Running() error {
	if p.stopped {
		return errors.New(p.Name + " is stopped")
	}
	select {
	case <-p.gone:
		return errors.New(p.Name + " has ended")
	default:
		return nil
	}
}

// Log returns the last lines that the process has logged.
func (p *Process) Log(lines int) string {
	text, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// CPU returns the processor time that the process has used.
func (p *Process) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The fields after the name in parentheses; utime and stime are the 14th and 15th of all.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100, nil
}
