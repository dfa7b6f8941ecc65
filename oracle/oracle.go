// Package oracle runs a real redis-server, if the test wants with a wall clock that the
// caller controls, so that tests can ask Redis for its answer at one exact millisecond.
//
// It is for tests and comparison tools only, and is never linked into the server. It is
// not a client library and compares nothing: it starts Redis, sets its clock and stops
// it.
//
// # How the clock is controlled
//
// Redis runs under libfaketime, which replaces clock_gettime and similar functions and
// reads the instant from a file. The file is replaced by rename and read again at every
// call, so a command sent after SetClock has returned sees the new time. Only the wall
// clock is stopped. The monotonic clock runs on, because Redis' event loop and timers
// depend on it.
//
// Debian's redis-server uses jemalloc, which asks for the time during its
// initialization. libfaketime answers that call by allocating memory, which deadlocks.
// Therefore libc is preloaded right behind libfaketime: its malloc then precedes
// jemalloc's in symbol order.
//
// # Expiry under a stopped clock
//
// Redis considers a key expired once the clock is past its deadline: at the millisecond
// of the deadline it still exists, with a PTTL of 0. Reading commands apply that rule
// exactly. Commands that count entries without reading them (DBSIZE, INFO keyspace)
// count an expired key until something removes it, and background removal runs on real
// time. Start turns background removal off (DEBUG SET-ACTIVE-EXPIRE 0) to make such
// counts repeatable: an expired key counts until it is touched, or until Reclaim
// removes all of them.
//
// This package is internal to zlimit: it may change in any release.
package oracle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	startAttempts = 5                // another process may take a free port before Redis binds it
	startTimeout  = 20 * time.Second // real time, for a loaded machine
	logTail       = 20               // lines of Redis' log kept for error messages
)

// Options configures a redis-server. NowMs or RealTime is required.
type Options struct {
	// NowMs is the Unix time in milliseconds of the server's wall clock until SetClock
	// moves it. It must be at least 10^11 (the year 1973).
	NowMs int64

	// RealTime leaves the wall clock alone. Such a server needs no libfaketime, and
	// expires keys in the background.
	RealTime bool

	// TLS lets the server listen with TLS, too, at TLSAddr. Args name its certificate.
	TLS bool

	// Program is one of Others; "" is redis-server 7.0.
	Program string

	// Args are appended to redis-server's command line, as in {"--requirepass",
	// "secret"}. They may override everything but the port.
	Args []string
}

// Redis is a running redis-server. Its methods may be called concurrently.
type Redis struct {
	cmd    *exec.Cmd
	addr   string
	tls    string // the address with TLS; empty: none
	socket string
	dir    string
	clock  clockFile
	bus    int           // the port of the cluster bus; 0: none
	exited chan struct{} // closed once the process has been waited for

	mu     sync.Mutex // protects tail
	tail   []string
	closed sync.Once
}

// Start runs a redis-server on a free loopback port and a Unix socket, with persistence
// off and DEBUG allowed. Unless o.RealTime is set, its clock is stopped at o.NowMs and
// background expiry is off. Start returns once the server answers. The caller must Close
// it.
func Start(o Options) (*Redis, error) {
	if o.NowMs < minNowMs && !o.RealTime {
		return nil, fmt.Errorf("oracle: NowMs %d is below %d", o.NowMs, int64(minNowMs))
	}
	tools, err := find(!o.RealTime)
	if o.Program != "" {
		tools.redisServer = o.Program
	}
	if err != nil {
		return nil, err
	}
	for range startAttempts {
		var r *Redis
		if r, err = start(tools, o); err == nil {
			return r, nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, err
}

var errPortTaken = errors.New("oracle: the port was taken before redis-server bound it")

func start(tools toolPaths, o Options) (_ *Redis, err error) {
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return nil, err
	}
	r := &Redis{
		dir:    dir,
		socket: filepath.Join(dir, "s"),
		clock:  clockFile{path: filepath.Join(dir, "clock")},
		exited: make(chan struct{}),
	}
	if !o.RealTime {
		if err := r.clock.write(o.NowMs); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))

	args := []string{
		"--bind", "127.0.0.1", "--daemonize", "no", "--dir", dir, "--save", "", "--appendonly", "no",
	}
	if Release(tools.redisServer) >= 700 {
		args = append(args, "--enable-debug-command", "yes")
	}
	args = append(args, o.Args...)
	args = append(args, "--port", strconv.Itoa(port), "--unixsocket", r.socket)
	if o.TLS {
		if port, err = freePort(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		r.tls = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		args = append(args, "--tls-port", strconv.Itoa(port))
	}
	r.cmd = exec.Command(tools.redisServer, args...)
	r.cmd.Dir = dir
	ownGroup(r.cmd)
	if !o.RealTime {
		r.cmd.Env = append(os.Environ(), r.clock.env(tools.libfaketime)...)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.cmd.Stderr = r.cmd.Stdout
	if err := r.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	ready := make(chan struct{})
	go r.follow(out, ready)
	select {
	case <-ready:
	case <-r.exited:
		err = fmt.Errorf("oracle: redis-server ended at start:\n%s", r.logTail())
		if strings.Contains(r.logTail(), "Address already in use") {
			err = errPortTaken
		}
	case <-time.After(startTimeout):
		err = fmt.Errorf("oracle: redis-server was not ready after %v:\n%s", startTimeout, r.logTail())
	}
	if err == nil && !o.RealTime {
		// A password in Args prevents this. Background removal then stays on, and the
		// caller must allow for it in DBSIZE.
		_, err = r.ask("DEBUG SET-ACTIVE-EXPIRE 0")
		if isNoAuth(err) {
			err = nil
		}
	}
	if err == nil && !o.RealTime {
		err = r.SetClock(o.NowMs)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// follow reads Redis' log until it ends, closes ready at the line that says connections
// are accepted, and reaps the process.
func (r *Redis) follow(out io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(out)
	for announced := false; lines.Scan(); {
		r.mu.Lock()
		r.tail = append(r.tail, lines.Text())
		if len(r.tail) > logTail {
			r.tail = r.tail[1:]
		}
		r.mu.Unlock()
		if !announced && strings.Contains(lines.Text(), "Ready to accept connections") {
			announced = true
			close(ready)
		}
	}
	// A line beyond the scanner's size must not block Redis on a full pipe.
	_, _ = io.Copy(io.Discard, out)
	_ = r.cmd.Wait() // the exit status adds nothing to the log
	close(r.exited)
}

func (r *Redis) logTail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.tail, "\n")
}

// Addr returns the server's TCP address, host:port.
func (r *Redis) Addr() string { return r.addr }

// Addrs returns Addr, as Cluster.Addrs does.
func (r *Redis) Addrs() []string { return []string{r.addr} }

// TLSAddr returns the address at which the server expects TLS.
func (r *Redis) TLSAddr() string { return r.tls }

// Dial connects to the server's Unix socket.
func (r *Redis) Dial() (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: r.socket, Net: "unix"})
}

// Wait blocks until the server has ended, as after SHUTDOWN.
func (r *Redis) Wait() { <-r.exited }

// Close stops this redis-server and removes its files. It may be called again.
func (r *Redis) Close() error {
	var err error
	r.closed.Do(func() {
		// Not SIGTERM: Redis' handler asks for the time, which deadlocks if the signal
		// arrives while libfaketime holds its lock. There is nothing to save.
		kill(r.cmd) // it may have exited already
		<-r.exited
		// A killed process leaves libfaketime's shared memory, which would keep a later
		// process with the same id from starting.
		for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
			_ = os.Remove(filepath.Join("/dev/shm", fmt.Sprintf(name, r.cmd.Process.Pid)))
		}
		err = os.RemoveAll(r.dir)
	})
	return err
}

// freePort returns a port that was free an instant ago. It is a variable for tests.
var freePort = func() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
