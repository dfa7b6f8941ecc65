// Package oracle runs a real redis-server whose wall clock the caller holds
// and moves, so that tests can ask Redis what it answers at one exact
// millisecond.
//
// It is for tests and for the comparison tools only. It is not a client
// library, it is never linked into the server, and it judges nothing: it
// starts Redis, sets its clock and ends it.
//
// # How the clock is held
//
// Redis is started under libfaketime, which replaces clock_gettime and its
// kin and takes the instant from a file. The file is replaced by rename and
// read again at every call, so an instruction sent after SetClock returned
// sees the new time. Only the wall clock is held; the monotonic one runs on,
// because Redis' event loop and timers live by it.
//
// Debian's redis-server uses jemalloc, which asks for the time while it sets
// itself up; libfaketime answers that call by allocating memory, and the
// process waits for itself for ever. Therefore libc is preloaded right behind
// libfaketime: its malloc then comes before jemalloc's in symbol order.
//
// # Expiry under a held clock
//
// A key is gone for Redis when the clock is past its deadline: at the very
// millisecond of the deadline it still exists, with a PTTL of 0. Reading
// commands apply that rule exactly. What counts entries without reading them
// (DBSIZE, INFO keyspace) sees a due key until something removes it, and the
// background removal runs on real time. Start therefore turns it off (DEBUG
// SET-ACTIVE-EXPIRE 0), which makes such counts repeatable: a due key counts
// until it is touched, or until Reclaim removes all of them.
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
	startAttempts = 5                // a free port may be taken before Redis binds it
	startTimeout  = 20 * time.Second // real time, for a loaded machine
	logTail       = 20               // lines of Redis' log kept for error messages
)

// Options says how to start a redis-server. The zero value is of no use:
// NowMs must be set.
type Options struct {
	// NowMs is the Unix time in milliseconds at which the server's wall clock
	// stands until SetClock moves it. At least 10^11 (the year 1973).
	NowMs int64

	// Args are appended to redis-server's command line, as in
	// {"--requirepass", "secret"}. They may override everything but the port.
	Args []string
}

// Redis is one running redis-server. Its methods may be called concurrently.
type Redis struct {
	cmd    *exec.Cmd
	addr   string
	dir    string
	clock  clockFile
	exited chan struct{} // closed once the process was waited for

	mu     sync.Mutex // protects tail
	tail   []string
	closed sync.Once
}

// Start runs a redis-server on a free loopback port with its clock held at
// o.NowMs, persistence off, DEBUG allowed and background expiry off, and
// returns when it answers. The caller must Close it.
func Start(o Options) (*Redis, error) {
	if o.NowMs < minNowMs {
		return nil, fmt.Errorf("oracle: NowMs %d is below %d", o.NowMs, int64(minNowMs))
	}
	tools, err := find()
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
		clock:  clockFile{path: filepath.Join(dir, "clock")},
		exited: make(chan struct{}),
	}
	if err := r.clock.write(o.NowMs); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))

	args := append([]string{
		"--bind", "127.0.0.1", "--daemonize", "no", "--dir", dir,
		"--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
	}, o.Args...)
	args = append(args, "--port", strconv.Itoa(port))
	r.cmd = exec.Command(tools.redisServer, args...)
	r.cmd.Dir = dir
	r.cmd.Env = append(os.Environ(), r.clock.env(tools.libfaketime)...)
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
	if err == nil {
		// A password in Args keeps this out of reach; then the caller has the
		// background removal on, and DBSIZE is his to judge.
		_, err = r.ask("DEBUG SET-ACTIVE-EXPIRE 0")
		if isNoAuth(err) {
			err = nil
		}
	}
	if err == nil {
		err = r.SetClock(o.NowMs)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// follow reads Redis' log until it ends, closes ready at the line that says
// connections are accepted, and reaps the process.
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
	// A line beyond the scanner's size must not leave Redis blocked on a full
	// pipe.
	_, _ = io.Copy(io.Discard, out)
	_ = r.cmd.Wait() // the exit status says nothing that the log does not
	close(r.exited)
}

func (r *Redis) logTail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.tail, "\n")
}

// Addr is the server's TCP address, host:port.
func (r *Redis) Addr() string { return r.addr }

// Close ends this redis-server, and no other, and removes its files. It may
// be called again.
func (r *Redis) Close() error {
	var err error
	r.closed.Do(func() {
		// Not SIGTERM: Redis' handler asks for the time, and when the signal
		// comes while libfaketime holds its lock, both wait for ever. There
		// is nothing to save.
		_ = r.cmd.Process.Kill() // it may have ended already
		<-r.exited
		// A killed process leaves libfaketime's shared memory behind, and a
		// later one with the same id could not start.
		for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
			_ = os.Remove(filepath.Join("/dev/shm", fmt.Sprintf(name, r.cmd.Process.Pid)))
		}
		err = os.RemoveAll(r.dir)
	})
	return err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
