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

// listen opens the listeners that the directives bind, port, port-file,
// unixsocket and unixsocketperm ask for: all of them, or none and an error of
// one line. The TCP ones follow CONFIG SET from then on.
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
		if s.bound, err = listenTCP(cfg.Strings("bind"), port); err != nil {
			return err
		}
	}
	for _, b := range s.bound {
		s.listeners = append(s.listeners, b.Listener)
	}
	if path != "" {
		l, err := listenUnix(path, fs.FileMode(cfg.Int("unixsocketperm")))
		if err != nil {
			closeAll(s.bound)
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

// bound is a listener at one of the addresses of bind.
type bound struct {
	net.Listener
	at address
}

// address is a word of bind, with the port.
type address struct {
	word string
	port int64
}

func closeAll(listeners []bound) {
	for _, l := range listeners {
		l.Close()
	}
}

// freePortTries is how often a port that the system chose for one address may
// turn out to be taken on another.
const freePortTries = 10

// listenTCP opens every address at one port; at any free one if port is 0.
func listenTCP(words []string, port int64) ([]bound, error) {
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

// listenAll returns what it opened also when it fails.
func listenAll(words []string, port int64) (listeners []bound, err error) {
	for _, word := range words {
		l, err := listenAt(address{word, port})
		if err != nil {
			return listeners, err
		}
		if l == nil {
			continue
		}
		// The system chooses once, and every address gets that port.
		port = int64(l.Addr().(*net.TCPAddr).Port)
		listeners = append(listeners, bound{l, address{word, port}})
	}
	return listeners, nil
}

// listenAt opens one address. Both results are nil where it may be missing on
// this machine, and is.
func listenAt(a address) (net.Listener, error) {
	host, optional := strings.CutPrefix(a.word, "-") // "-::1": skip where there is no such address
	network := "tcp"
	switch host {
	case "*":
		network, host = "tcp4", "0.0.0.0"
	case "::*":
		network, host = "tcp6", "::"
	}
	l, err := net.Listen(network, net.JoinHostPort(host, strconv.FormatInt(a.port, 10)))
	if err != nil && optional && isMissingAddress(err) {
		return nil, nil //nolint:nilnil // said above
	}
	if err != nil {
		return nil, listenError(err, host, a.port)
	}
	if raw, err := l.(*net.TCPListener).SyscallConn(); err == nil {
		_ = raw.Control(stampPackets)
	}
	return l, nil
}

// listenError is one clear line for what went wrong.
func listenError(err error, host string, port int64) error {
	address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
	if isInUse(err) {
		return &inUseError{fmt.Sprintf("port %d is in use (%s): stop what listens there, or choose another with --port", port, address), err}
	}
	var cause *os.SyscallError
	if errors.As(err, &cause) {
		return fmt.Errorf("cannot listen on %s: %w", address, cause.Err) // net says the address once more
	}
	return fmt.Errorf("cannot listen on %s: %w", address, err)
}

// inUseError says what to do rather than what the system said.
type inUseError struct {
	text  string
	cause error
}

func (e *inUseError) Error() string { return e.text }

func (e *inUseError) Unwrap() error { return e.cause }

func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// isMissingAddress reports whether this machine lacks an address, or the whole
// family of addresses.
func isMissingAddress(err error) bool {
	var lookup *net.DNSError
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT) || errors.As(err, &lookup)
}

// listenUnix opens a unix socket, in the place of one that a dead process left.
func listenUnix(path string, perm fs.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
			return nil, fmt.Errorf("unixsocket %s is in use: stop what listens there, or choose another", path)
		}
		// Anything but a refusal, such as a full queue or a missing right, may
		// be a server that lives.
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
