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

// A client is a connection. It sends a batch's steps in order, each after the previous
// one is answered.
type client struct {
	fd      int
	batch   batch
	step    int
	check   checker
	sentAt  time.Duration
	in      []byte
	held    int  // bytes of an incomplete line in in
	waiting bool // a batch is under way
}

// A driver runs one load.
type driver struct {
	l       *load
	w       *wires
	t       *tally
	start   time.Time
	at      instant
	free    []*client // connections without a batch under way
	sent    int64
	due     time.Duration // when the next batch of a paced load is due
	gap     time.Duration // between two of these; 0: a closed loop
	phase   phase
	stopped bool // a bound has been reached
}

// run puts the load on the server and returns its result. The first unexpected reply
// ends it with an error.
//
// One thread serves all connections with epoll, which takes a fifth less of the client's
// core than a goroutine for each. A paced client spins between batches: it has a core of
// its own, and waking from a sleep would be part of every latency.
func (l *load) run(ctx context.Context) (*tally, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	w, err := l.connect()
	if err != nil {
		return nil, err
	}
	defer w.close()

	d := &driver{l: l, w: w, t: new(tally), start: time.Now()}
	for i := range w.clients {
		d.free = append(d.free, &w.clients[i])
	}
	waitMs := 100 // so that an interrupt is noticed
	if l.perSecond > 0 {
		d.gap, waitMs = time.Duration(float64(time.Second)/l.perSecond), 0
	}
	var now, active time.Duration // active is the time of the server's last activity
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if l.during != nil {
			if d.phase, err = l.during(now); err != nil {
				return nil, err
			}
		}
		if err := d.send(now); err != nil {
			return nil, err
		}
		under := len(d.free) < len(w.clients)
		if d.stopped && !under {
			break
		}
		served, err := w.serve(waitMs, d.answered)
		if err != nil {
			return nil, err
		}
		before := now
		now = time.Since(d.start)
		if d.gap > 0 {
			d.t.turned(now - before)
		}
		if served || !under {
			active = now
		} else if now-active > ioTimeout {
			return nil, errNoAnswer
		}
	}
	d.t.whole = time.Since(d.start)
	if d.t.elapsed == 0 { // time was not the bound of a closed loop
		d.t.flows, d.t.elapsed = d.t.all, d.t.whole
	}
	for i := range w.clients {
		d.t.admitted += w.clients[i].check.admitted
		d.t.denied += w.clients[i].check.denied
	}
	return d.t, nil
}

// send begins a batch on each free connection, as far as batches are due.
func (d *driver) send(now time.Duration) error {
	for len(d.free) > 0 && !d.ended(now) {
		due := now
		if d.gap > 0 {
			if d.due > now {
				return nil
			}
			due = d.due
			d.due += d.gap
		}
		c := d.free[len(d.free)-1]
		d.free = d.free[:len(d.free)-1]
		nowMs := d.start.UnixMilli() + now.Milliseconds()
		if d.l.fromMs != 0 {
			nowMs = d.l.fromMs + d.sent/int64(d.l.pipeline)
		}
		d.at.set(nowMs, d.l.quota.windowMs)
		c.batch.fill(d.l.keys, &d.at)
		d.sent += int64(d.l.pipeline)
		c.step, c.sentAt, c.waiting = 0, due, true
		if err := c.send(); err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether a bound stops new batches.
func (d *driver) ended(now time.Duration) bool {
	if d.stopped {
		return true
	}
	if d.gap > 0 {
		now = d.due
	}
	late := d.l.duration > 0 && now >= d.l.duration
	if late && d.gap == 0 {
		d.t.flows, d.t.elapsed = d.t.all, now
	}
	d.stopped = late || d.phase == over || d.l.flows > 0 && d.sent >= d.l.flows
	return d.stopped
}

// answered counts the batch of a connection, and begins what is due.
func (d *driver) answered(c *client) error {
	now := time.Since(d.start)
	if d.phase == counted {
		d.t.latency.record(now - c.sentAt - d.l.less)
	}
	d.t.all += int64(d.l.pipeline)
	c.waiting = false
	d.free = append(d.free, c)
	return d.send(now)
}

// wires holds the connections of a load and the epoll instance that watches them.
type wires struct {
	poll    int
	clients []client
	sink    *sink // nil: none
	events  []syscall.EpollEvent
}

// connect opens the load's connections and adds them to epoll.
func (l *load) connect() (*wires, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	w := &wires{
		poll: poll, clients: make([]client, 0, l.connections),
		events: make([]syscall.EpollEvent, l.connections+1), sink: l.sink,
	}
	for range l.connections {
		fd, err := dial(l.address)
		if err != nil {
			w.close()
			return nil, err
		}
		c := client{fd: fd, batch: assemble(l.flow, l.pipeline, l.quota), in: make([]byte, 64<<10)}
		c.check.limit = l.quota.limit
		w.clients = append(w.clients, c)
		if err := w.add(fd, int32(len(w.clients)-1)); err != nil {
			w.close()
			return nil, err
		}
	}
	if w.sink != nil {
		if err := w.add(w.sink.fd, sinkEvent); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// sinkEvent stands for the sink in events, which name clients by index.
const sinkEvent = -1

// add watches a connection for input.
func (w *wires) add(fd int, index int32) error {
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: index}
	if err := syscall.EpollCtl(w.poll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// close closes the connections. It ignores that the other side may have done so.
func (w *wires) close() {
	for i := range w.clients {
		_ = syscall.Close(w.clients[i].fd)
	}
	_ = syscall.Close(w.poll)
}

// serve waits up to ms milliseconds, handles events, and calls answered for each
// connection whose batch is complete. served is false if there was no event of a client.
func (w *wires) serve(ms int, answered func(*client) error) (served bool, err error) {
	n, err := syscall.EpollWait(w.poll, w.events, ms)
	if errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("epoll: %w", err)
	}
	for _, event := range w.events[:n] {
		if event.Fd == sinkEvent {
			if err := w.sink.receive(); err != nil {
				return served, err
			}
			continue
		}
		served = true
		c := &w.clients[event.Fd]
		done, err := c.receive()
		if err == nil && done {
			err = answered(c)
		}
		if err != nil {
			return true, err
		}
	}
	return served, nil
}

// dial opens a raw connection: package net would put the socket under the runtime's
// poller.
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

// send begins the current step. The kernel accepts it at once: the step before has been answered, so that its
// buffer is empty, and larger than a batch.
func (c *client) send() error {
	s := &c.batch.steps[c.step]
	c.check.reset(s.replies, c.batch.pipeline)
	n, err := syscall.Write(c.fd, s.buf)
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Write(c.fd, s.buf)
	}
	if err == nil && n < len(s.buf) {
		err = syscall.EAGAIN
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// receive reads once, checks the complete lines, and sends the next step if one has
// been answered. It reports whether the whole batch has been.
func (c *client) receive() (answered bool, err error) {
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
		return false, c.send()
	}
	return true, nil
}
