package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A serverProcess is a server that this process started. It ends no other process.
type serverProcess struct {
	name     string // in the report
	address  string
	version  string // from INFO
	pid      int
	answered time.Time // time of its first answer

	gone chan struct{} // closed when the process has ended
	kill func(os.Signal) error
	log  string // name of the file with what it said
}

// startServer starts a program that accepts redis-server's flags, on a free loopback
// port, and returns when it answers. It makes up to three attempts, because another
// process may take the port before the server binds it.
func startServer(
	ctx context.Context, where placement, name, program, dir string, flags ...string,
) (s *serverProcess, err error) {
	for attempt := 0; attempt < 3 && ctx.Err() == nil; attempt++ {
		if s, err = tryServer(ctx, where, name, program, dir, flags); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("start %s (%s): %w", name, program, errors.Join(err, ctx.Err()))
}

func tryServer(
	ctx context.Context, where placement, name, program, dir string, flags []string,
) (*serverProcess, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	fixed := []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}
	args := append(fixed, flags...)
	cmd := where.command(program, args...)
	cmd.Dir = dir
	log, err := os.Create(filepath.Join(dir, "server-"+port+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	tie(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &serverProcess{
		name: name, address: "127.0.0.1:" + port, pid: cmd.Process.Pid,
		gone: make(chan struct{}), kill: cmd.Process.Signal, log: log.Name(),
	}
	go func() {
		_ = cmd.Wait() // any exit before stop is an error, whatever its status
		close(s.gone)
	}()
	if err := s.awake(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// freePort returns a port that nobody listens to.
func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}

// awake waits for the first answer.
func (s *serverProcess) awake(ctx context.Context) error {
	deadline := time.After(ioTimeout)
	for {
		reply, err := s.ask("PING")
		if err == nil && reply != "PONG" {
			return fmt.Errorf("PING was answered with %q", reply)
		}
		if err == nil {
			s.answered = time.Now()
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.gone:
			return fmt.Errorf("it ended: %s", s.said())
		case <-deadline:
			return fmt.Errorf("%w: %w: %s", errNoAnswer, err, s.said())
		case <-time.After(time.Millisecond):
		}
	}
	info, err := s.ask("INFO", "server")
	if err != nil {
		return err
	}
	s.version = version(info)
	return nil
}

// said returns the end of what the process has written, for error messages.
func (s *serverProcess) said() []byte {
	text, _ := os.ReadFile(s.log)
	return bytes.TrimSpace(text[max(0, len(text)-2000):])
}

// version finds the program's version in INFO. A line of its own takes precedence over
// redis_version, which is then only the version imitated.
func version(info string) string {
	var imitated string
	for l := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), ":")
		switch {
		case name == "redis_version":
			imitated = value
		case strings.HasSuffix(name, "_version") && value != "" && !strings.HasPrefix(name, "gcc"):
			return value
		}
	}
	return imitated
}

// ask sends a command on a connection of its own and returns the reply's text. An error
// reply is an error.
func (s *serverProcess) ask(args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		return "", err
	}
	if _, err := conn.Write(appendCommand(nil, args)); err != nil {
		return "", err
	}
	return readText(bufio.NewReader(conn))
}

// command is ask for a command whose reply has to be want.
func (s *serverProcess) command(want string, args ...string) error {
	reply, err := s.ask(args...)
	if err == nil && reply != want {
		err = fmt.Errorf("answered %q, want %q", reply, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// appendCommand appends a command as it is sent.
func appendCommand(to []byte, args []string) []byte {
	to = fmt.Appendf(to, "*%d\r\n", len(args))
	for _, arg := range args {
		to = fmt.Appendf(to, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return to
}

// readText reads a reply: a single text, or the texts of an array separated by blanks.
func readText(r *bufio.Reader) (string, error) {
	l, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	l = strings.TrimSuffix(l, "\r\n")
	if l == "" {
		return "", errors.New("an empty reply")
	}
	switch l[0] {
	case '+', ':':
		return l[1:], nil
	case '-':
		return "", errors.New(l[1:])
	case '$':
		n, err := strconv.Atoi(l[1:])
		if err != nil || n < 0 || n > 1<<20 {
			return "", fmt.Errorf("a bulk of length %q", l[1:])
		}
		value := make([]byte, n+len("\r\n"))
		_, err = io.ReadFull(r, value)
		return string(value[:n]), err
	case '*':
		n, err := strconv.Atoi(l[1:])
		if err != nil || n < 0 || n > 1<<10 {
			return "", fmt.Errorf("an array of length %q", l[1:])
		}
		texts := make([]string, n)
		for i := range texts {
			if texts[i], err = readText(r); err != nil {
				return "", err
			}
		}
		return strings.Join(texts, " "), nil
	}
	return "", fmt.Errorf("a reply of an unknown kind: %q", l)
}

// stop terminates the process, by force if necessary, and returns when it is gone.
func (s *serverProcess) stop() {
	_ = s.kill(syscall.SIGTERM) // an error means that it has ended already
	select {
	case <-s.gone:
		return
	case <-time.After(3 * time.Second):
	}
	_ = s.kill(os.Kill)
	<-s.gone
}
