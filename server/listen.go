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

// listen opens the listeners of the directives bind, port, port-file, ready-line,
// tls-port, unixsocket and unixsocketperm: all of them, or none if it returns an error, which
// is one line. It registers the TCP listeners to follow CONFIG SET.
func (s *Server) listen(freePort bool) error {
	cfg := s.cfg
	if err := s.ReloadTLS(); err != nil {
		return err
	}
	for _, wanted := range s.portsAtStart(freePort) {
		listeners, err := s.listenTCP(cfg.Strings("bind"), wanted)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, listeners...)
	}
	path := cfg.String("unixsocket")
	if path != "" {
		l, err := listenUnix(path, fs.FileMode(cfg.Int("unixsocketperm")))
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, listener{Listener: l})
	}
	if len(s.listeners) == 0 {
		if len(s.portsAtStart(freePort)) > 0 {
			return errors.New("nothing to listen on: none of the addresses of bind is there")
		}
		return errors.New("nothing to listen on: port and tls-port are 0, and none of port-file, " +
			"ready-line and unixsocket is set")
	}
	if err := s.openDoors(); err != nil {
		return err
	}
	if err := s.setChosenPorts(); err != nil {
		return err
	}
	cfg.OnTry("bind", func() error { return s.rebind(errBind) })
	cfg.OnTry("port", func() error { return s.rebind(errPort) })
	s.followTLS()
	return nil
}

// portsAtStart returns the ports to open, without their addresses. A port of 0
// means any free one.
func (s *Server) portsAtStart(freePort bool) []address {
	port, tlsPort := s.cfg.Int("port"), s.cfg.Int("tls-port")
	var out []address
	switch {
	case freePort:
		out = append(out, address{})
	case port != 0 || tlsPort == 0 && s.tellsPort():
		out = append(out, address{port: port})
	}
	if tlsPort != 0 && freePort {
		out = append(out, address{tls: true})
	} else if tlsPort != 0 {
		out = append(out, address{port: tlsPort, tls: true})
	}
	return out
}

// tellsPort reports whether the port is told, so that port 0 means any free one.
func (s *Server) tellsPort() bool {
	return s.cfg.String("port-file") != "" || s.cfg.Bool("ready-line") && s.cfg.String("unixsocket") == ""
}

// setChosenPorts sets the directives to the ports that the system chose.
func (s *Server) setChosenPorts() error {
	for _, l := range s.listeners {
		if !l.isOfBind() {
			continue
		}
		directive, port := "port", int64(l.Addr().(*net.TCPAddr).Port)
		if l.addr.tls {
			directive = "tls-port"
		}
		if port != s.cfg.Int(directive) {
			pair := [][]byte{[]byte(directive), strconv.AppendInt(nil, port, 10)}
			if err := s.cfg.Set(pair); err != nil {
				return err
			}
		}
	}
	return nil
}

// A listener is one of the server's. addr is zero unless it is at one of the addresses of bind.
type listener struct {
	net.Listener
	addr address
}

// isOfBind reports whether the listener follows the directives bind, port and tls-port.
func (l listener) isOfBind() bool { return l.addr.word != "" }

// An address is one address of bind, as it stands there, and the port.
type address struct {
	word string
	port int64
	tls  bool // connections are over TLS
}

func closeAll(listeners []listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// freePortTries bounds how often a port that the system chose for one address may
// be in use at another.
const freePortTries = 10

// listenTCP opens every address at one port, or at the same free port if port is 0.
func (s *Server) listenTCP(words []string, at address) ([]listener, error) {
	for try := 1; ; try++ {
		listeners, err := s.listenAll(words, at)
		if err == nil {
			return listeners, nil
		}
		closeAll(listeners)
		if at.port != 0 || len(listeners) == 0 || !isInUse(err) || try == freePortTries {
			return nil, err
		}
	}
}

// listenAll also returns the opened listeners if it fails.
func (s *Server) listenAll(words []string, at address) (listeners []listener, err error) {
	for _, at.word = range words {
		l, err := s.listenAt(at)
		if err != nil {
			return listeners, err
		}
		if l == nil {
			continue
		}
		// The system chooses once, for all addresses.
		at.port = int64(l.Addr().(*net.TCPAddr).Port)
		listeners = append(listeners, listener{l, at})
	}
	return listeners, nil
}

// listenAt opens one address. Both results are nil if the address is optional and
// missing on this machine.
func (s *Server) listenAt(a address) (net.Listener, error) {
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
		return nil, listenError(err, host, a)
	}
	if a.tls {
		l = &tlsListener{l, &s.tls.server}
	}
	return l, nil
}

// listenError returns err as one line that says what to do.
func listenError(err error, host string, a address) error {
	address, directive := net.JoinHostPort(host, strconv.FormatInt(a.port, 10)), "port"
	if a.tls {
		directive = "tls-port"
	}
	if isInUse(err) {
		text := fmt.Sprintf("port %d is in use (%s): stop what listens there, or choose another with --%s",
			a.port, address, directive)
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
