package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

const (
	// flushBytes is how much output a long pipeline collects before some of
	// it is sent while the rest still runs.
	flushBytes = 64 << 10
	// keptOutput is the output buffer that a connection keeps between batches.
	keptOutput = 256 << 10
	// drainTime bounds how long an ending server goes on answering a client
	// that does not stop sending, where it cannot be known how much had arrived.
	drainTime = time.Second
	// lastWords is how long a connection that is to close waits for a client
	// that takes nothing of what was answered.
	lastWords = 2 * time.Second
	// earlierPatience bounds how long a command waits for earlier ones of the
	// clients that it concerns.
	earlierPatience = 10 * time.Millisecond
	// silence is how long a client must be silent before a connection that is
	// to close believes that nothing more is on its way.
	silence = 20 * time.Millisecond
)

// A conn is one client: a goroutine that reads what has arrived, runs every
// whole command of it, and sends the replies with one write.
//
// Other goroutines change its course in one way only: they set a flag and then
// a read deadline in the past, and read looks at the flags after each deadline
// that it sets itself, so that no such call is lost. What is to end at once they
// cut.
type conn struct {
	server    *Server
	nc        net.Conn
	in        *reader
	out       output
	session   *engine.Session
	finishing atomic.Bool // set by another goroutine: the server ends
	limits    *connLimits // those that are obeyed
	active    time.Time   // when bytes last came
	deadline  bool        // a read deadline is set
	listening bool        // its output obeys the limit of subscribers
	patience  *time.Timer // ends the waiting of a blocked command; nil: nothing does

	batches atomic.Uint32 // how many have run
	held    atomic.Int64  // bytes of buffers that it keeps between them
	seen    uint32        // batches when trimIdle last looked; its own
	trim    atomic.Bool   // set by another goroutine: give the buffers back

	muted bool // by an Interception: nothing is answered any more

	turned func(n int) []byte // turn, bound once
	over   bool               // turn says that the connection does not go on
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{server: s, nc: nc, out: output{nc: nc, socket: newSocket(nc)}}
	c.turned = c.turn
	return c
}

// serve runs the connection to its end.
func (c *conn) serve() {
	defer c.out.end()
	c.limits = c.server.limits.Load()
	c.out.obey(c.limits.output)
	c.keepAlive()
	c.active = time.Now()
	remote, local := names(c.nc)
	c.session = c.server.engine.NewSession(engine.Peer{
		Addr: remote, LocalAddr: local, FD: c.out.socket.fileDescriptor(), Local: isLocal(c.nc.RemoteAddr()),
		Kill: c.out.cut, Wake: c.wake, Streams: true,
		Arrived: c.out.socket.arrived,
		Await:   func(before int64) bool { return c.out.socket.await(before, c.server.earlier) },
		Buffers: func() engine.Buffers { return c.buffers(true) },
	})
	c.out.settle, c.out.complain = c.session.WaitDurable, c.complain
	c.out.count = c.session.CountWritten
	c.in = newReader(c.limits.reader(c.session.Authenticated()))
	c.session.Publish(c.buffers(false))
	polite := true
	c.guarded(func() { polite = c.loop() })
	c.stopPatience()
	unread := c.out.overflow()
	if unread > 0 { // told before others can see that it is gone
		c.complain("left %d bytes of replies unread: closed by client-output-buffer-limit", unread)
	}
	c.session.Close()
	if unread == 0 && polite {
		c.guarded(c.leave) // also after a panic: what came before it is answered
	}
}

// guarded runs fn behind a fence: whatever happens in one client's commands,
// it ends that client only.
func (c *conn) guarded(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			c.complain("panic: %v\n%s", p, debug.Stack())
		}
	}()
	fn()
}

// loop reads and answers until the connection is over. It reports whether the
// client may still be listening.
func (c *conn) loop() (polite bool) {
	for {
		n, err := c.read()
		c.filled(n)
		if c.over || (n > 0 || c.session.Ready()) && !c.batch() {
			return true
		}
		switch {
		case err == nil:
		case errors.Is(err, errFinishing):
			c.drain()
			return true
		case errors.Is(err, io.EOF):
			// Who has sent everything may close that side and read on, as in
			// `printf 'PING\r\n' | nc`.
			return true
		default:
			return false
		}
	}
}

// filled notes that so many bytes were read.
func (c *conn) filled(n int) {
	c.in.filled(n)
	if n > 0 {
		c.session.CountRead(n)
	}
}

// batch runs every whole command that has arrived and sends the replies. It
// reports whether the connection goes on.
func (c *conn) batch() bool {
	c.follow()
	on := true
	if b := c.session.Blocked(); b != nil {
		if !b.Over() {
			c.publish()
			return c.deliver() && c.out.flush() && c.mayPile()
		}
		c.stopPatience()
		c.active = time.Now()
		on = c.answer(c.session.Resume())
	}
	for on && c.session.Blocked() == nil {
		args, ok, err := c.in.next()
		if err != nil {
			c.refuse(err)
			on = false
		}
		if !ok {
			break
		}
		var reply resp.Value
		if c.server.intercept == nil {
			reply = c.session.Do(args)
		} else if reply, on = c.intercepted(args); !on {
			break
		}
		on = c.answer(reply)
	}
	if c.session.Aborted() {
		c.out.buf = c.out.buf[:0]
	}
	on = on && c.deliver()
	on = c.out.flush() && on
	c.publish()
	return on
}

// answer adds a command's reply to the output. It reports whether the connection
// goes on.
func (c *conn) answer(reply resp.Value) bool {
	if c.muted {
		reply = resp.None
	}
	on := true
	if reply.Kind() == resp.KindStream {
		on = c.out.stream(reply.Stream())
	} else {
		c.out.buf = resp.Append(c.out.buf, &reply, c.session.Proto())
	}
	if now := c.session.Authenticated(); now != c.in.limits.authenticated {
		c.in.setLimits(c.limits.reader(now))
	}
	c.bePatient()
	if len(c.out.buf) >= flushBytes && !c.session.Aborted() {
		on = c.out.flush() && on
	}
	return on && !c.session.Closing()
}

// refuse answers input that ends the connection.
func (c *conn) refuse(err error) {
	var refused protocolError
	if errors.As(err, &refused) {
		c.out.append([]byte("-ERR " + refused.Error() + "\r\n"))
		return
	}
	c.complain("%v: closed by client-query-buffer-limit", err)
}

// complain logs what was wrong with a client.
func (c *conn) complain(format string, args ...any) {
	remote, _ := names(c.nc)
	c.server.log.Printf("client id=%d addr=%s: %s", c.session.ID(), remote, fmt.Sprintf(format, args...))
}

// follow takes over limits that CONFIG SET has changed.
func (c *conn) follow() {
	if l := c.server.limits.Load(); l != c.limits {
		if c.limits.idle == 0 {
			c.active = time.Now() // it was not looked at so far
		}
		c.limits = l
		c.in.setLimits(l.reader(c.session.Authenticated()))
		c.out.obey(c.outputLimit())
		c.keepAlive()
	}
}

// hold tells trimIdle what the connection keeps.
func (c *conn) hold() { c.held.Store(int64(c.in.memory() + cap(c.out.buf))) }

func (c *conn) publish() {
	c.batches.Add(1)
	c.hold()
	c.session.Publish(c.buffers(false))
}

// buffers are the sizes that CLIENT LIST reports, while a command runs or between
// two batches.
func (c *conn) buffers(running bool) engine.Buffers {
	used, unused := c.in.queryBuffer(running)
	waiting := c.out.waiting()
	return engine.Buffers{
		Query: used, QueryFree: unused, Output: waiting,
		Memory: c.in.memory() + cap(c.out.buf) + waiting,
	}
}

// leave sends what was answered and ends the connection so that it arrives: to
// close while input is unread is a reset, at which systems drop replies that
// are still on their way.
func (c *conn) leave() {
	if !c.out.last(c.server.lastWords) {
		return
	}
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	ignored := make([]byte, minBuffer)
	now := time.Now()
	for end := now.Add(lastWords); now.Before(end); now = time.Now() {
		c.nc.SetReadDeadline(now.Add(silence))
		if _, err := c.nc.Read(ignored); err != nil {
			return
		}
	}
}

func (c *conn) keepAlive() {
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok {
		return
	}
	// As Redis: probes begin after the interval, come at a third of it, and
	// the third that is not answered ends the connection.
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: c.limits.keepAlive > 0, Idle: c.limits.keepAlive,
		Interval: max((c.limits.keepAlive / 3).Truncate(time.Second), time.Second), Count: 3,
	})
}

// names are a connection's two addresses in CLIENT LIST; both ends of a unix
// socket are its path and :0, as in Redis.
func names(nc net.Conn) (remote, local string) {
	local = nc.LocalAddr().String()
	if nc.LocalAddr().Network() == "unix" {
		local += ":0"
		return local, local
	}
	return nc.RemoteAddr().String(), local
}

// timedOut reports whether err is a deadline that has passed.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
