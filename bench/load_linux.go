package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"time"
)

// A client is one connection: it sends a batch's steps one after the other, and
// each when the last one is answered.
type client struct {
	fd      int
	batch   batch
	step    int
	check   checker
	sentAt  time.Duration
	in      []byte
	held    int    // bytes of in that hold a started line
	unsent  []byte // what the kernel did not take yet
	blocked bool   // unsent waits for the kernel
	waiting bool   // a batch is under way
}

// run puts the load on the server and returns what came of it. The first reply
// that is not the expected one ends it with an error.
//
// One thread serves all connections with epoll. A goroutine per connection
// over package net pays one more system call a round trip (the read that finds
// nothing) and the scheduler's switches: about a fifth more processor time on
// the core that has to outrun the server. README.md has the figures.
func (l *load) run(ctx context.Context) (*tally, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	poll, clients, byFd, err := l.connect()
	if err != nil {
		return nil, err
	}
	defer closeAll(poll, clients)

	t := new(tally)
	start := time.Now()
	wallMs := start.UnixMilli()
	var at instant
	var sent int64
	under := 0 // batches sent and not answered
	stopped := false

	// next begins a batch on c, or leaves it idle when a bound is reached.
	next := func(c *client, now time.Duration) error {
		if !stopped && l.reached(now, sent) {
			stopped = true
			if l.duration > 0 && now >= l.duration {
				t.flows, t.elapsed = t.all, now
			}
		}
		if stopped {
			c.waiting = false
			return nil
		}
		nowMs := wallMs + now.Milliseconds()
		if l.fromMs != 0 {
			nowMs = l.fromMs + sent/int64(l.pipeline)
		}
		at.set(nowMs, l.quota.windowMs)
		c.batch.fill(l.keys, &at)
		sent += int64(l.pipeline)
		c.step, c.sentAt, c.waiting = 0, now, true
		under++
		return c.send(poll)
	}

	for i := range clients {
		if err := next(&clients[i], time.Since(start)); err != nil {
			return nil, err
		}
	}
	events := make([]syscall.EpollEvent, l.connections)
	var heard time.Duration // when the server last did anything
	for under > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := syscall.EpollWait(poll, events, 100) // ms, so that an interrupt is seen
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("epoll: %w", err)
		}
		if n == 0 {
			if time.Since(start)-heard > patience {
				return nil, errNoAnswer
			}
			continue
		}
		heard = time.Since(start)
		for _, event := range events[:n] {
			c := byFd[event.Fd]
			answered, err := c.serve(poll, event.Events)
			if err != nil {
				return nil, err
			}
			if !answered {
				continue
			}
			now := time.Since(start)
			t.latency.record(now - c.sentAt)
			t.all += int64(l.pipeline)
			under--
			if err := next(c, now); err != nil {
				return nil, err
			}
		}
	}
	t.whole = time.Since(start)
	if t.elapsed == 0 { // the number of flows was the bound
		t.flows, t.elapsed = t.all, t.whole
	}
	t.count(clients)
	return t, nil
}

// count sums what the clients' checkers saw.
func (t *tally) count(clients []client) {
	for i := range clients {
		t.admitted += clients[i].check.admitted
		t.denied += clients[i].check.denied
	}
}

// connect opens the load's connections and has epoll watch them.
func (l *load) connect() (poll int, clients []client, byFd map[int32]*client, err error) {
	if poll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return 0, nil, nil, fmt.Errorf("epoll: %w", err)
	}
	clients = make([]client, l.connections)
	byFd = make(map[int32]*client, l.connections)
	for i := range clients {
		c := &clients[i]
		if c.fd, err = dial(l.address); err != nil {
			closeAll(poll, clients[:i])
			return 0, nil, nil, err
		}
		c.batch = assemble(l.flow, l.pipeline, l.quota)
		c.check.limit = l.quota.limit
		c.in = make([]byte, 64<<10)
		byFd[int32(c.fd)] = c
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.fd)}
		if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, c.fd, &event); err != nil {
			closeAll(poll, clients[:i+1])
			return 0, nil, nil, fmt.Errorf("epoll: %w", err)
		}
	}
	return poll, clients, byFd, nil
}

// closeAll closes the connections; that the other side did so first is no
// matter.
func closeAll(poll int, clients []client) {
	for i := range clients {
		_ = syscall.Close(clients[i].fd)
	}
	_ = syscall.Close(poll)
}

// serve acts on what epoll tells of a connection, and says whether its batch
// has been answered.
func (c *client) serve(poll int, events uint32) (answered bool, err error) {
	if len(c.unsent) > 0 && events&syscall.EPOLLOUT != 0 {
		if err := c.flush(poll); err != nil {
			return false, err
		}
	}
	return c.receive(poll)
}

// dial opens a connection of its own kind: package net would put the socket
// under the runtime's poller.
func dial(address string) (int, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return -1, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	err = syscall.Connect(fd, &syscall.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
	if err == nil {
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	}
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		return -1, errors.Join(fmt.Errorf("connect to %s: %w", address, err), syscall.Close(fd))
	}
	return fd, nil
}

// send begins the present step.
func (c *client) send(poll int) error {
	s := &c.batch.steps[c.step]
	c.check.reset(s.replies, c.batch.pipeline)
	c.unsent = s.buf
	return c.flush(poll)
}

// flush hands the kernel what it takes, and asks to be told when it takes more.
func (c *client) flush(poll int) error {
	for len(c.unsent) > 0 {
		n, err := syscall.Write(c.fd, c.unsent)
		switch {
		case err == nil:
			c.unsent = c.unsent[n:]
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return c.watch(poll, syscall.EPOLLIN|syscall.EPOLLOUT)
		default:
			return fmt.Errorf("write: %w", err)
		}
	}
	if c.blocked {
		return c.watch(poll, syscall.EPOLLIN)
	}
	return nil
}

// watch sets the events that wake this connection.
func (c *client) watch(poll int, events uint32) error {
	c.blocked = events&syscall.EPOLLOUT != 0
	event := syscall.EpollEvent{Events: events, Fd: int32(c.fd)}
	if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_MOD, c.fd, &event); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// receive reads once, checks the lines that are there, and sends the next step
// when one has been answered. It says whether the whole batch has been.
func (c *client) receive(poll int) (answered bool, err error) {
	n, err := syscall.Read(c.fd, c.in[c.held:])
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read: %w", err)
	case n == 0:
		return false, errHungUp
	}
	buf := c.in[:c.held+n]
	used, done, err := c.check.feed(buf)
	if err != nil {
		return false, err
	}
	c.held = copy(c.in, buf[used:])
	if c.held == len(c.in) {
		return false, fmt.Errorf("a reply line of more than %d bytes", len(c.in))
	}
	if !done || !c.waiting {
		return false, nil
	}
	if c.held > 0 {
		return false, fmt.Errorf("a reply to nothing: %q", head(c.in[:c.held]))
	}
	if c.step++; c.step < len(c.batch.steps) {
		return false, c.send(poll)
	}
	return true, nil
}
