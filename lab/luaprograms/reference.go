package luaprograms

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// runTimeout is real time. It only keeps a source that never ends from hanging a test.
const runTimeout = 20 * time.Second

// ErrTimeout is returned for a source that takes too many instructions or too long.
var ErrTimeout = errors.New("luaprograms: the source does not end")

//go:embed driver.lua
var driver string

// A Reference is a running lua5.1. Its methods must not be called concurrently.
type Reference struct {
	path   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// FindReference returns a lua5.1, which is started when it is needed. The error says what is missing.
func FindReference() (*Reference, error) {
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		return nil, errors.New("luaprograms: no lua5.1 in PATH (Debian: lua5.1)")
	}
	return &Reference{path: path}, nil
}

// Run runs a source and returns "ok" and the results, or "error" and the error. A result that is no string,
// number, boolean or nil is shown by its type. The sandbox lacks io, os, debug, package, print,
// getfenv, setfenv, math.random and functions that read files.
func (r *Reference) Run(source string) (string, error) {
	if r.cmd == nil {
		if err := r.start(); err != nil {
			return "", err
		}
	}
	watchdog := time.AfterFunc(runTimeout, func() { _ = r.cmd.Process.Kill() })
	result, err := r.exchange(source)
	if !watchdog.Stop() || err != nil || result == "timeout" {
		r.Close()
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return "", ErrTimeout
		}
		return "", fmt.Errorf("luaprograms: %w", err)
	}
	return result, nil
}

func (r *Reference) exchange(source string) (string, error) {
	if _, err := io.WriteString(r.stdin, strconv.Itoa(len(source))+"\n"+source); err != nil {
		return "", err
	}
	head, err := r.stdout.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(head))
	if err != nil {
		return "", err
	}
	result := make([]byte, n)
	_, err = io.ReadFull(r.stdout, result)
	return string(result), err
}

// start runs lua5.1 with 1 GB of address space, which bounds sources that build long strings.
func (r *Reference) start() (err error) {
	r.cmd = exec.Command("/bin/sh", "-c", `ulimit -v 1000000; exec "$0" -e "$1"`, r.path, driver)
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r.stdout = bufio.NewReader(stdout)
	return r.cmd.Start()
}

// Close ends lua5.1. A later Run starts it again.
func (r *Reference) Close() {
	if r.cmd == nil {
		return
	}
	_ = r.stdin.Close()
	if r.cmd.Process != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
	r.cmd = nil
}
