package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// listen opens the listeners of the directives bind, port, port-file, unixsocket
// and unixsocketperm: all of them, or none if it returns an error, which is one
// line. It registers the TCP listeners to follow CONFIG SET.
func (s *Server) listen(freePort bool) error {
	cfg := s.cfg
	port := cfg.Int("port")
	if freePort {
		port = 0
	}
	tcp := port != 0 || freePort || cfg.String("port-file") != ""
	path := cfg.String("unixsocket")
	if path == "" && !tcp {
		return errors.New("nothing to listen on: port is 0, and neither port-file nor unixsocket is set")
	}
	if tcp {
		var err error
		if s.tcpListeners, err = listenTCP(cfg.Strings("bind"), port); err != nil {
			return err
		}
	}
	for _, b := range s.tcpListeners {
		s.listeners = append(s.listeners, b.Listener)
	}
	if path != "" {
		l, err := listenUnix(path, fs.FileMode(cfg.Int("unixsocketperm")))
		if err != nil {
			closeAll(s.tcpListeners)
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	if len(s.listeners) == 0 {
		return errors.New("nothing to listen on: none of the addresses of bind is there")
	}
	if p := s.Port(); p != 0 && int64(p) != cfg.Int("port") {
		if err := cfg.Set([][]byte{[]byte("port"), strconv.AppendInt(nil, int64(p), 10)}); err != nil {
			return err
		}
	}
	cfg.OnTry("bind", func() error { return s.rebind(errBind) })
	cfg.OnTry("port", func() error { return s.rebind(errPort) })
	return nil
}

// A tcpListener is a listener at one of the addresses of bind.
type tcpListener struct {
	net.Listener
	addr address
}

// An address is one address of bind, as it stands there, and the port.
type address struct {
	word string
	port int64
}

func closeAll(listeners []tcpListener) {
	for _, l := range listeners {
		l.Close()
	}
}

// freePortTries bounds how often a port that the system chose for one address may
// be in use at another.
const freePortTries = 10

// listenTCP opens every address at one port, or at the same free port if port is 0.
func listenTCP(words []string, port int64) ([]tcpListener, error) {
	for try := 1; ; try++ {
		listeners, err := listenAll(words, port)
		if err == nil {
			return listeners, nil
		}
		closeAll(listeners)
		if port != 0 || len(listeners) == 0 || !isInUse(err) || try == freePortTries {
			return nil, err
		}
	}
}

// listenAll also returns the opened listeners if it fails.
func listenAll(words []string, port int64) (listeners []tcpListener, err error) {
	for _, word := range words {
		l, err := listenAt(address{word, port})
		if err != nil {
			return listeners, err
		}
		if l == nil {
			continue
		}
		// The system chooses once, for all addresses.
		port = int64(l.Addr().(*net.TCPAddr).Port)
		listeners = append(listeners, tcpListener{l, address{word, port}})
	}
	return listeners, nil
}

// listenAt opens one address. Both results are nil if the address is optional and
// missing on this machine.
func listenAt(a address) (net.Listener, error) {
	host, optional := strings.CutPrefix(a.word, "-") // "-::1": the address is optional
	network := "tcp"
	switch host {
	case "*":
		network, host = "tcp4", "0.0.0.0"
	case "::*":
		network, host = "tcp6", "::"
	}
	l, err := net.Listen(network, net.JoinHostPort(host, strconv.FormatInt(a.port, 10)))
	if err != nil && optional && isMissingAddress(err) {
		return nil, nil //nolint:nilnil // documented above
	}
	if err != nil {
		return nil, listenError(err, host, a.port)
	}
	if raw, err := l.(*net.TCPListener).SyscallConn(); err == nil {
		_ = raw.Control(enableTimestamps)
	}
	return l, nil
}

// listenError returns err as one line that says what to do.
func listenError(err error, host string, port int64) error {
	address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
	if isInUse(err) {
		text := fmt.Sprintf("port %d is in use (%s): stop what listens there, or choose another with --port",
			port, address)
		return &inUseError{text, err}
	}
	var cause *os.SyscallError
	if errors.As(err, &cause) {
		return fmt.Errorf("cannot listen on %s: %w", address, cause.Err) // without net's address
	}
	return fmt.Errorf("cannot listen on %s: %w", address, err)
}

// An inUseError says what to do rather than what the system reported.
type inUseError struct {
	text  string
	cause error
}

func (e *inUseError) Error() string { return e.text }

func (e *inUseError) Unwrap() error { return e.cause }

func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// isMissingAddress reports whether err says that this machine lacks an address, or
// the whole address family.
func isMissingAddress(err error) bool {
	var lookup *net.DNSError
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT) || errors.As(err, &lookup)
}

// listenUnix opens a unix socket. It replaces one that a dead process has left.
func listenUnix(path string, perm fs.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
			return nil, fmt.Errorf("unixsocket %s is in use: stop what listens there, or choose another",
				path)
		}
		// Only a refused connection proves that the server is dead. A full queue or
		// a missing permission does not.
		if errors.Is(err, syscall.ECONNREFUSED) {
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("cannot listen on unixsocket: %w", err)
			}
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		var cause *os.SyscallError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("cannot listen on unixsocket %s: %w", path, err)
	}
	if perm != 0 {
		if err := os.Chmod(path, perm); err != nil {
			l.Close()
			return nil, fmt.Errorf("cannot set unixsocketperm: %w", err)
		}
	}
	return l, nil
}
