package server

import (
	"errors"
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
	// drainTime is how long an ending server goes on reading what has already
	// arrived.
	drainTime = 20 * time.Millisecond
	// lastWords is how long a connection that is to close waits for the client
	// to take what was answered.
	lastWords = 2 * time.Second
)

// A conn is one client: a goroutine that reads what has arrived, runs every
// whole command of it, and sends the replies with one write.
type conn struct {
	server    *Server
	nc        net.Conn
	in        *reader
	out       output
	session   *engine.Session
	finishing atomic.Bool // set by another goroutine: the server ends
	limits    *connLimits // those that in was given
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{server: s, nc: nc, out: output{nc: nc, raw: rawConn(nc)}}
}

// deniedError is what a stranger reads while protected-mode is on.
const deniedError = "-DENIED protected-mode is on and no password is set, so only clients of this machine are answered: " +
	"set requirepass, or bind to trusted addresses and set protected-mode to no.\r\n"

// serve runs the connection to its end.
func (c *conn) serve() {
	defer c.nc.Close()
	local := isLocal(c.nc)
	if !local && c.server.cfg.Bool("protected-mode") && c.server.cfg.String("requirepass") == "" {
		c.out.append([]byte(deniedError))
		c.out.last(lastWords)
		return
	}
	c.limits = c.server.limits.Load()
	c.keepAlive()
	c.session = c.server.engine.NewSession(engine.Peer{
		Addr: peerName(c.nc.RemoteAddr(), c.nc.LocalAddr()), LocalAddr: c.nc.LocalAddr().String(),
		FD: fileDescriptor(c.nc), Local: local,
		Kill: func() { c.nc.Close() },
	})
	c.in = newReader(c.limits.reader(c.session.Authenticated()))
	// Whatever happens in one client's commands, it ends that client only.
	defer func() {
		if p := recover(); p != nil {
			c.server.log.Printf("client id=%d addr=%s: panic: %v\n%s", c.session.ID(), c.nc.RemoteAddr(), p, debug.Stack())
		}
		c.session.Close()
	}()
	c.loop()
}

// loop reads and answers until the connection is over.
func (c *conn) loop() {
	for {
		n, err := c.read()
		c.in.filled(n)
		if n > 0 && !c.batch() {
			c.out.last(lastWords)
			return
		}
		if err != nil {
			if c.finishing.Load() {
				c.out.last(lastWords)
			}
			return
		}
	}
}

// read waits for bytes; not longer than timeout allows.
func (c *conn) read() (int, error) {
	if c.limits.idle > 0 {
		c.nc.SetReadDeadline(time.Now().Add(c.limits.idle))
		if c.finishing.Load() {
			c.nc.SetReadDeadline(time.Now().Add(drainTime))
		}
	}
	return c.nc.Read(c.in.free())
}

// batch runs every whole command that has arrived and sends the replies. It
// reports whether the connection goes on.
func (c *conn) batch() bool {
	c.follow()
	on := true
	for on {
		args, ok, err := c.in.next()
		if err != nil {
			var refused protocolError
			if errors.As(err, &refused) {
				c.out.append([]byte("-ERR " + refused.Error() + "\r\n"))
			}
			on = false
		}
		if !ok {
			break
		}
		authenticated := c.session.Authenticated()
		reply := c.session.Do(args)
		c.out.buf = resp.Append(c.out.buf, &reply, c.session.Proto())
		if now := c.session.Authenticated(); now != authenticated {
			c.in.setLimits(c.limits.reader(now))
		}
		on = on && !c.session.Closing()
		if len(c.out.buf) >= flushBytes {
			on = c.out.flush(c.limits.output) && on
		}
	}
	on = c.out.flush(c.limits.output) && on
	c.publish()
	return on
}

// follow takes over limits that CONFIG SET has changed.
func (c *conn) follow() {
	if l := c.server.limits.Load(); l != c.limits {
		c.limits = l
		c.in.setLimits(l.reader(c.session.Authenticated()))
		c.keepAlive()
		if l.idle == 0 && !c.finishing.Load() {
			c.nc.SetReadDeadline(time.Time{})
		}
	}
}

func (c *conn) publish() {
	used, unused := c.in.queryBuffer()
	waiting := c.out.waiting()
	c.session.Publish(engine.Buffers{
		Query: used, QueryFree: unused, Output: waiting,
		Memory: c.in.memory() + cap(c.out.buf) + waiting,
	})
}

// finish makes the connection end soon: what has arrived is still answered.
func (c *conn) finish() {
	c.finishing.Store(true)
	c.nc.SetReadDeadline(time.Now().Add(drainTime))
}

func (c *conn) keepAlive() {
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok {
		return
	}
	// As Redis: probes begin after the interval, come at a third of it, and
	// the third that is not answered ends the connection.
	tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: c.limits.keepAlive > 0, Idle: c.limits.keepAlive,
		Interval: max(c.limits.keepAlive/3, time.Second), Count: 3,
	})
}

// isLocal reports whether the client is on this machine.
func isLocal(nc net.Conn) bool {
	addr, ok := nc.RemoteAddr().(*net.TCPAddr)
	return !ok || addr.IP.IsLoopback()
}

// peerName is a client's address in CLIENT LIST; of a unix socket it is the
// socket's path and :0, as in Redis.
func peerName(remote, local net.Addr) string {
	if remote.Network() == "unix" {
		return local.String() + ":0"
	}
	return remote.String()
}

// timedOut reports whether err is a deadline that has passed.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
