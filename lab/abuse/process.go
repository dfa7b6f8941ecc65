package abuse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Process is a server that Start has started.
type Process struct {
	Addr    string
	TLSAddr string // "" if the row has no TLS, as of the doors

	GRPCAddr, HTTPAddr string

	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// freePort returns an address of loopback where nobody listens, and its port.
func freePort() (addr, port string, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	return l.Addr().String(), strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}

// BuildServer returns the path of the zlimit-server that tests run: that of the environment variable
// ZLIMIT_SERVER, or one that it builds in dir, without the profile, from the module that the caller's
// requires.
func BuildServer(dir string) (program string, err error) {
	if program = os.Getenv("ZLIMIT_SERVER"); program != "" {
		return program, nil
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/zlimit/zlimit").Output()
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "zlimit-server")
	build := exec.Command("go", "build", "-pgo=off", "-o", program, "./cmd/zlimit-server")
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// Start starts a program that takes redis-server's directives for a row, on free ports
// of loopback, and returns when it answers. The row's files are in dir.
func Start(ctx context.Context, program, dir string, row *Row) (*Process, error) {
	addr, port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Process{Addr: addr, gone: make(chan struct{})}
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", ""}, row.Directives...)
	if row.Password != "" {
		args = append(args, "--requirepass", row.Password)
	}
	if row.TLS {
		certificate, err := CertificateDirectives(dir)
		if err != nil {
			return nil, err
		}
		if p.TLSAddr, port, err = freePort(); err != nil {
			return nil, err
		}
		args = append(append(args, certificate...), "--tls-port", port)
	}
	if row.Doors {
		if p.GRPCAddr, _, err = freePort(); err != nil {
			return nil, err
		}
		if p.HTTPAddr, _, err = freePort(); err != nil {
			return nil, err
		}
		doors, err := DoorDirectives(dir, p.GRPCAddr, p.HTTPAddr)
		if err != nil {
			return nil, err
		}
		args = append(args, doors...)
	}
	p.cmd = exec.Command(program, args...)
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
		c, err := Dial(addr, row.Password)
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
