package abuse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A Process is a server that Start has started.
type Process struct {
	Addr string
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// Start starts a program that takes redis-server's directives, on a free port of
// loopback, and returns when it answers.
func Start(ctx context.Context, program, password string, directives ...string) (*Process, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	args := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", ""}
	if password != "" {
		args = append(args, "--requirepass", password)
	}
	p := &Process{Addr: addr, gone: make(chan struct{})}
	p.cmd = exec.Command(program, append(args, directives...)...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ends does not matter once Stop was called, and shows otherwise
		close(p.gone)
	}()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for end := time.Now().Add(ioTimeout); ; {
		c, err := Dial(addr, password)
		if err == nil {
			_, err = c.Do("PING")
			c.Close()
		}
		if err == nil {
			return p, nil
		}
		select {
		case <-retry.C:
		case <-p.gone:
			return nil, fmt.Errorf("%s has ended before it answered", program)
		case <-ctx.Done():
			p.Stop()
			return nil, ctx.Err()
		}
		if time.Now().After(end) {
			p.Stop()
			return nil, fmt.Errorf("%s does not answer: %w", program, err)
		}
	}
}

// Stop ends the process.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.gone
}

// ResidentBytes returns the process' resident memory.
func (p *Process) ResidentBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("the process' status has no VmRSS")
}

// Descriptors returns how many files and sockets the process has open.
func (p *Process) Descriptors() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(open), err
}
