package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A supervisor is the socket on which systemd would listen.
type supervisor struct{ *net.UnixConn }

func newSupervisor(t *testing.T, name string) supervisor {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(testTimeout))
	return supervisor{c}
}

// next returns the next datagram.
func (s supervisor) next(t *testing.T) string {
	t.Helper()
	block := make([]byte, 1024)
	n, err := s.Read(block)
	require.NoError(t, err)
	return string(block[:n])
}

// shortDir returns a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zlimit")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestNotify checks what systemd is sent during a server's life, on a socket with a path
// and on an abstract one.
func TestNotify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ supervised, socket string }{
		"path":     {"systemd", filepath.Join(shortDir(t), "notify")},
		"abstract": {"auto", fmt.Sprintf("@zlimit-test-%d-%d", os.Getpid(), time.Now().UnixNano())},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSupervisor(t, c.socket)
			args, port := anyPort(t)
			p := prepare(t, append(args, "--supervised", c.supervised)...)
			p.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+c.socket)
			p.run(t)
			require.Equal(t, "STATUS=Loading", s.next(t))
			require.Equal(t, "READY=1\nSTATUS=Ready to accept connections", s.next(t))
			text, err := os.ReadFile(port)
			require.NoError(t, err)
			p.port = strings.TrimSpace(string(text))
			p.addr = "127.0.0.1:" + p.port
			require.Equal(t, "+PONG", p.dial(t).ask(t, "PING"))
			p.signal(t, syscall.SIGTERM)
			require.Equal(t, "STOPPING=1\nSTATUS=Shutting down", s.next(t))
			code, said := p.wait(t)
			require.Zero(t, code)
			require.NotContains(t, said, "supervisor")
		})
	}
}

// TestNotifyFullSocket checks that a supervisor which does not read delays no more
// than notifyTimeout.
func TestNotifyFullSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "notify")
	newSupervisor(t, socket)
	var err error
	for range 10_000 {
		if err = notify(socket, strings.Repeat("x", 1000)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
