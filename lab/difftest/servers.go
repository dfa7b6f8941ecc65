package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/oracle"
)

const (
	readyTimeout  = time.Minute
	readyInterval = 5 * time.Millisecond
	replyTimeout  = time.Minute // far longer than a busy machine needs: a missing reply is a difference
	stopTimeout   = 5 * time.Second
	logTail       = 600 // lines of our server's output kept for the report of a crash
)

// startOracle starts a redis-server whose clock is held at nowMs, if it wants a cluster as one that has all
// slots.
func startOracle(title string, nowMs int64, cluster bool) (server, func(), error) {
	var r interface {
		Addrs() []string
		SetClock(nowMs int64) error
		Close() error
	}
	var err error
	if o := (oracle.Options{NowMs: nowMs}); cluster {
		r, err = oracle.StartCluster(o, 1)
	} else {
		r, err = oracle.Start(o)
	}
	if err != nil {
		return server{}, nil, err
	}
	end := func() {
		if err := r.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "difftest:", err)
		}
	}
	return server{title: title, addr: r.Addrs()[0], setClock: r.SetClock}, end, nil
}

// startPlain starts a redis-server whose clock runs, and returns its address.
func startPlain() (addr string, end func(), err error) {
	r, err := oracle.Start(oracle.Options{RealTime: true})
	if err != nil {
		return "", nil, err
	}
	return r.Addr(), func() {
		if err := r.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "difftest:", err)
		}
	}, nil
}

// debugClock holds and moves the clock of a zlimit-server by DEBUG CLOCK.
type debugClock struct {
	addr   string
	l      *link
	frozen bool
}

func (c *debugClock) do(args ...string) error {
	if c.l == nil || c.l.fail != "" {
		l, err := dial(c.addr)
		if err != nil {
			return err
		}
		c.l = l
	}
	c.l.send(appendCommand(nil, args), dialTimeout)
	got := c.l.receive()
	if got.fail != "" || got.raw[0] == '-' {
		return fmt.Errorf("%s replies %v", strings.Join(args, " "), got)
	}
	return nil
}

// set freezes the clock first, once: SET moves a running clock, which then continues to run.
func (c *debugClock) set(nowMs int64) error {
	if !c.frozen {
		if err := c.do("DEBUG", "CLOCK", "FREEZE"); err != nil {
			return err
		}
		c.frozen = true
	}
	return c.do("DEBUG", "CLOCK", "SET", strconv.FormatInt(nowMs, 10))
}

// A child is a zlimit-server process that this program starts.
type child struct {
	path string
	args []string // appended to the command line

	cmd    *exec.Cmd
	exited chan struct{}

	mu   sync.Mutex // protects tail
	tail []string
}

// start runs the server on a free loopback port and returns its address once it replies.
func (c *child) start() (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	args := append([]string{
		"--port", strconv.Itoa(port), "--save", "", "--enable-debug-command", "yes",
		"--lua-error-reply-prefix", "always", "--failed-logins-per-second", "0",
	}, c.args...)
	c.cmd = exec.Command(c.path, args...)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	c.cmd.Stderr = c.cmd.Stdout
	if err := c.cmd.Start(); err != nil {
		return "", err
	}
	c.exited = make(chan struct{})
	exited, cmd := c.exited, c.cmd
	go func() {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				c.addLine(strings.TrimRight(line, "\n"))
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait() // the output shows how it ended
		close(exited)
	}()
	for begin := time.Now(); time.Since(begin) < readyTimeout; pause() {
		select {
		case <-c.exited:
			return "", fmt.Errorf("%s exited at start:\n%s", c.path, c.log())
		default:
		}
		l, err := dial(addr)
		if err != nil {
			continue
		}
		l.send([]byte("PING\r\n"), time.Second)
		got := l.receive()
		l.close()
		if string(got.raw) == "+PONG\r\n" {
			return addr, nil
		}
	}
	c.stop()
	return "", fmt.Errorf("%s did not reply to PING within %v:\n%s", c.path, readyTimeout, c.log())
}

func (c *child) addLine(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(c.tail, line)
	if len(c.tail) > logTail {
		c.tail = c.tail[1:]
	}
}

func (c *child) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.tail, "\n")
}

// abort ends a process that may hang. SIGQUIT makes a Go program write the stacks of all its goroutines.
func (c *child) abort() {
	if c.cmd.Process == nil {
		return // it never started
	}
	_ = c.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended already
	select {
	case <-c.exited:
	case <-time.After(stopTimeout):
		c.stop()
	}
}

// stop ends the process that start started.
func (c *child) stop() {
	if c.cmd == nil || c.cmd.Process == nil {
		return
	}
	select {
	case <-c.exited:
		return
	default:
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-c.exited:
	case <-time.After(stopTimeout):
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// targets are the flags that select the two servers.
type targets struct {
	redisAddr, oursAddr, serverPath string
	self, cluster                   bool
}

var errWhichServer = errors.New("no server to compare: -server PATH, -ours ADDR or -self")

// open starts or connects to both servers. runningClock reports whether their clocks cannot be held. end
// stops the servers that were started.
func (o targets) open(nowMs int64) (d *runner, runningClock bool, end func(), err error) {
	if !o.self && o.oursAddr == "" && o.serverPath == "" {
		return &runner{}, false, func() {}, errWhichServer
	}
	var ends []func()
	var once sync.Once
	end = func() {
		once.Do(func() {
			for _, f := range ends {
				f()
			}
		})
	}
	d = &runner{timeout: replyTimeout}
	if o.redisAddr != "" {
		d.ref = server{title: "redis", addr: o.redisAddr}
		runningClock = true
	} else {
		var stop func()
		if d.ref, stop, err = startOracle("redis", nowMs, o.cluster); err != nil {
			return d, false, end, err
		}
		ends = append(ends, stop)
	}
	switch {
	case o.self:
		var stop func()
		if d.ours, stop, err = startOracle("redis again", nowMs, o.cluster); err == nil {
			ends = append(ends, stop)
		}
	case o.oursAddr != "":
		clock := &debugClock{addr: o.oursAddr}
		d.ours = server{title: "ours", addr: o.oursAddr, setClock: clock.set}
	default:
		c := &child{path: o.serverPath}
		if o.cluster {
			c.args = []string{"--cluster-enabled", "yes", "--cluster-config-file", ""}
		}
		ends = append(ends, c.stop)
		restart := func() error {
			if c.cmd != nil {
				c.abort()
				fmt.Fprintf(os.Stderr, "difftest: restarting our server; the old one's output ends:\n%s\n",
					c.log())
			}
			addr, err := c.start()
			if err != nil {
				return err
			}
			clock := &debugClock{addr: addr}
			d.ours.addr, d.ours.setClock = addr, clock.set
			return nil
		}
		d.ours = server{title: "ours", restart: restart}
		err = restart()
	}
	if runningClock {
		d.ref.setClock, d.ours.setClock = nil, nil
	}
	return d, runningClock, end, err
}

// pause is the time between two questions to a process that is getting ready.
func pause() {
	time.Sleep(readyInterval) //nolint:forbidigo // other processes have no clock to move
}
