package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// serverTimeout is far more than a server needs for anything on a busy machine.
const serverTimeout = 2 * time.Minute

// A server is a process of ours on a free loopback port, without persistence.
type server struct {
	port   int
	cmd    *exec.Cmd
	output *output
	exited chan struct{} // closed once the process has exited
	err    error         // its exit error; set before exited is closed and read only afterwards
}

// output collects a process's output for concurrent readers.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // protected by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return tail(o.text.Bytes(), 20)
}

// start runs path as a server in folder and returns once it answers PING. A free port
// may be taken before the server binds it, so a process that exits at once is retried
// on another.
func start(ctx context.Context, path, folder string, flags ...string) (*server, error) {
	var last error
	for range 3 {
		s, err := startOnce(ctx, path, folder, flags...)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		last = err
	}
	return nil, last
}

func startOnce(ctx context.Context, path, folder string, flags ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := append([]string{"--port", strconv.Itoa(port), "--save", "", "--bind", "127.0.0.1"}, flags...)
	s := &server{port: port, cmd: exec.Command(path, args...), output: &output{}, exited: make(chan struct{})}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = folder, s.output, s.output
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	err = s.await(ctx, func() bool {
		reply, err := s.ask("PING")
		return err == nil && reply == "+PONG"
	})
	if err != nil && s.alive() {
		err = errors.Join(err, s.stop())
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// await polls until ready returns true. It fails if the process exits or after serverTimeout.
func (s *server) await(ctx context.Context, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if ready() {
			return nil
		}
		select {
		case <-poll.C:
		case <-s.exited:
			return fmt.Errorf("%s ended while starting: %w\n%s", s.cmd.Path, s.err, s.output.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", s.cmd.Path, ctx.Err(), s.output.tail())
		}
	}
}

// ask sends an inline command on a connection of its own. It returns a status or error
// line unchanged, or a bulk's content.
func (s *server) ask(command string) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), serverTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(serverTimeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", err
	}
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	length, isBulk := strings.CutPrefix(line, "$")
	if !isBulk {
		return line, nil
	}
	size, err := strconv.Atoi(length)
	if err != nil || size < 0 {
		return "", fmt.Errorf("unexpected reply %q", line)
	}
	content := make([]byte, size)
	_, err = io.ReadFull(reader, content)
	return string(content), err
}

func (s *server) alive() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// lost returns an error once the process has exited.
func (s *server) lost() error {
	if s.alive() {
		return nil
	}
	return fmt.Errorf("the server is gone: %w\n%s", s.err, s.output.tail())
}

// stop terminates the process, by force if necessary. An exit code other than 0 is an
// error: a server that crashes during shutdown has not behaved like Redis.
func (s *server) stop() error {
	if s.alive() {
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && s.alive() {
			return err
		}
	}
	select {
	case <-s.exited:
	case <-time.After(serverTimeout):
		err := s.cmd.Process.Kill()
		<-s.exited
		return errors.Join(fmt.Errorf("%s did not end on SIGTERM", s.cmd.Path), err)
	}
	if s.err != nil {
		return fmt.Errorf("%s: %w\n%s", s.cmd.Path, s.err, s.output.tail())
	}
	return nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
