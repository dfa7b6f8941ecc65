package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

const (
	// flushBytes is how much output of a long pipeline is collected before it is
	// sent, while the rest still runs.
	flushBytes = 64 << 10
	// maxKeptOutput is the largest output buffer that a connection keeps between
	// batches.
	maxKeptOutput = 256 << 10
	// drainTimeout bounds how long a server that shuts down answers a client that
	// does not stop sending, if it is unknown how much had arrived.
	drainTimeout = time.Second
	// lingerTimeout is how long a connection that is to close waits for a client
	// that reads none of its replies.
	lingerTimeout = 2 * time.Second
	// orderTimeout bounds how long a command waits for earlier commands of the
	// clients that it affects.
	orderTimeout = 10 * time.Millisecond
	// quietPeriod is how long a client must be silent until a connection that is to
	// close assumes that nothing more is on its way.
	quietPeriod = 20 * time.Millisecond
)

// A conn is the connection of one client: a goroutine that reads input, runs every
// complete command of it, and sends the replies with one write.
//
// Other goroutines only set a flag and then a read deadline in the past. read
// checks the flags after each deadline that it sets itself, so that no wake-up is
// lost. To end the connection at once they abort its output.
type conn struct {
	server       *Server
	nc           net.Conn
	in           *reader
	out          output
	session      *engine.Session
	shuttingDown atomic.Bool // set by another goroutine
	handshaking  atomic.Bool // the TLS handshake is not over
	limits       *connLimits // those in force
	lastActive   time.Time   // when bytes last arrived
	pace         pace
	buffers      buffers
	streamed     int64       // of the session, at the last flush
	hasDeadline  bool        // a read deadline is set
	subscribed   bool        // the output limit is the one of subscribers
	blockTimer   *time.Timer // the timeout of a blocked command; may be nil

	pipelines bool // the last batch was a pipeline, so the next may well be one

	muted bool // see Interception.Mute

	onRead func(n int) bool // handleRead, bound once
	done   bool             // handleRead found that the connection is to close
}

// buffers is what trimIdle knows of a connection's buffers.
type buffers struct {
	batches     atomic.Uint32 // number of batches run
	lastBatches uint32        // at trimIdle's last call
	bytes       atomic.Int64  // size of the buffers, between batches
	trim        atomic.Bool   // set by another goroutine: release them
}

// isIdle reports, for trimIdle, whether no batch has run since it was called last.
func (b *buffers) isIdle() bool {
	batches := b.batches.Load()
	idle := batches == b.lastBatches
	b.lastBatches = batches
	return idle
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{server: s, nc: nc, out: output{nc: nc}}
	if c.out.tls, _ = nc.(*tlsConn); c.out.tls != nil {
		c.out.socket = c.out.tls.wire.socket
		c.handshaking.Store(true)
	} else {
		c.out.socket = newSocket(nc)
	}
	c.onRead = c.handleRead
	return c
}

// serve serves the connection until it ends.
func (c *conn) serve() {
	defer c.out.close()
	c.limits = c.server.limits.Load()
	c.keepAlive()
	c.lastActive = time.Now()
	remote, local := addresses(c.nc)
	c.session = c.server.engine.NewSession(engine.Peer{
		Addr: remote, LocalAddr: local, Network: Network(c.nc.RemoteAddr()),
		FD: c.out.socket.fileDescriptor(), Local: IsLocal(c.nc.RemoteAddr()),
		Kill: c.out.abort, Wake: c.wake, Streams: true, KeepsArgs: c.server.intercept == nil,
		Arrived:  c.out.socket.arrived,
		Await:    func(before int64) bool { return c.out.socket.awaitEarlier(before, c.server.orderTimeout) },
		Buffers:  func() engine.Buffers { return c.sizes(true) },
		Forwards: true,
	})
	c.out.owner = c
	c.setOutputLimit()
	c.in = newReader(c.limits.reader(c.session.Authenticated()))
	c.session.Publish(c.sizes(false))
	shaken := c.out.tls == nil
	if !shaken {
		c.survives(func() { shaken = c.shakeHands() })
	}
	if !shaken {
		c.session.Close()
		return
	}
	graceful := true
	c.survives(func() { graceful = c.loop() })
	c.stopBlockTimer()
	unread := c.out.overflow()
	if unread > 0 { // counted and logged before other clients can see that it is gone
		c.server.engine.Stats().OutputLimit.Add(1)
		c.logEnd(slog.LevelWarn, "closed by client-output-buffer-limit", "unread", unread)
	}
	c.session.Close()
	if unread == 0 && graceful {
		c.survives(c.linger) // also after a panic: earlier commands are answered
	}
}

// survives calls fn. A panic in it ends only this client.
func (c *conn) survives(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(p)
		}
	}()
	fn()
}

// loop reads and answers until the connection is to close. It reports whether the
// client may still read replies.
func (c *conn) loop() (graceful bool) {
	for {
		n, err := c.read()
		c.filled(n)
		if c.done || (n > 0 || c.session.Ready()) && !c.batch() {
			return true
		}
		switch {
		case err == nil:
		case errors.Is(err, errShuttingDown):
			c.drain()
			return true
		case errors.Is(err, io.EOF):
			// A client may close its sending side and read on, as in `printf
			// 'PING\r\n' | nc`.
			return true
		default:
			return false
		}
	}
}

func (c *conn) filled(n int) {
	c.in.filled(n)
	if n > 0 {
		c.session.CountRead(n)
		c.pace.received(n, c.out.socket.waited())
	}
}

// batch runs every complete command that has arrived and sends the replies. It
// reports whether the connection stays open.
func (c *conn) batch() bool {
	c.updateLimits()
	open := true
	if b := c.session.Blocked(); b != nil {
		if !b.Over() {
			c.publish()
			return c.deliver() && c.flush() && c.checkQueryLimit()
		}
		c.stopBlockTimer()
		c.lastActive = time.Now()
		open = c.appendReply(c.session.Resume())
	}
	ran, ahead := 0, 0 // commands of this batch, and those of them that were read ahead
	for ; open && c.session.Blocked() == nil; ran++ {
		if ran >= ahead && c.pipelines && c.session.ReadsAhead() {
			ahead = ran + c.readAhead()
		}
		args, ok, err := c.in.next()
		if err != nil {
			c.appendForwarded()
			c.rejectInput(err)
			open = false
		}
		if !ok {
			break
		}
		var reply resp.Value
		if c.server.faults == nil {
			reply = c.session.Do(args)
		} else if reply, open = c.doIntercepted(args); !open {
			break
		}
		open = c.appendReply(reply)
		if c.pace.owed += c.session.TakeLongArgs() * argBytes; c.pace.owed >= turnBytes {
			c.stepAside()
		}
	}
	c.pipelines = ran > 1
	open = c.appendForwarded() && open
	if c.session.Aborted() {
		c.out.buf = c.out.buf[:0]
	}
	open = open && c.deliver()
	c.pace.traffic += len(c.out.buf)
	c.session.EndCall()
	if c.pipelines {
		// Let other connections run their commands, so that all send their replies together and the client is
		// woken once, not for each connection. Waking it takes longer than a batch.
		runtime.Gosched()
	}
	open = c.flush() && open
	c.yield()
	c.publish()
	return open
}

// readAhead reads the memory of the keys of the next commands. It returns how many these are, at least one.
func (c *conn) readAhead() int {
	var room [engine.ReadAheadCalls]engine.Arrived
	arrived := c.in.peek(room[:0])
	if len(arrived) > 1 {
		c.session.ReadAhead(arrived)
	}
	return max(len(arrived), 1)
}

// appendReply appends a command's reply to the output. It reports whether the
// connection stays open.
func (c *conn) appendReply(reply resp.Value) bool {
	if c.muted {
		reply = resp.None
	}
	open := true
	if reply.Kind() == resp.KindStream {
		c.session.EndCall()
		open = c.sendLong(reply.Stream())
	} else {
		c.out.buf = resp.Append(c.out.buf, &reply, c.session.Proto())
	}
	if now := c.session.Authenticated(); now != c.in.limits.authenticated {
		c.in.setLimits(c.limits.reader(now))
		c.setOutputLimit()
	}
	c.startBlockTimer()
	if !c.in.limits.authenticated && len(c.out.buf) >= unauthBatch {
		c.out.abortOverflow(len(c.out.buf))
		return false
	}
	if len(c.out.buf) >= flushBytes && !c.session.Aborted() {
		c.session.EndCall()
		c.pace.traffic += len(c.out.buf)
		if open = c.flush() && open; !c.out.sent {
			c.session.EnforceClientMemory() // a long pipeline may ask for any amount
		}
		c.yield()
	}
	if !c.session.Closing() {
		return open
	}
	if bytes := c.session.Exceeded(); bytes > 0 {
		c.out.abortOverflow(bytes)
	}
	return false
}

// sendLong sends a reply that is in blocks, or made while it is sent, behind those collected. It reports
// whether the connection stays open.
func (c *conn) sendLong(reply io.WriterTo) bool {
	c.pace.traffic += len(c.out.buf)
	if blocks, ok := reply.(*resp.Blocks); ok {
		c.pace.traffic += blocks.Size()
	}
	open := c.out.stream(reply)
	if !c.out.sent {
		c.session.EnforceClientMemory()
	}
	c.yield()
	return open
}

// appendForwarded appends the replies of calls that the session has collected for its upstream. It
// reports whether the connection stays open.
func (c *conn) appendForwarded() bool {
	reply := c.session.ForwardBatch()
	return reply.Kind() == resp.KindNone && !c.session.Closing() || c.appendReply(reply)
}

// flush sends the collected replies. Replicas come first if the session has written anything since the last
// flush, so that a server that is killed has acknowledged little that they lack. The first yield lets those
// run whose input has arrived, too, and then the replicas' pumps; these let the others run likewise, to send
// more at once, and so they are waited for by the second. Nothing is promised: WAIT does that.
func (c *conn) flush() bool {
	if at := c.session.Streamed(); at != c.streamed {
		c.streamed = at
		runtime.Gosched()
		runtime.Gosched()
	}
	return c.out.flush()
}

// yield waits for another turn if the connection has been busy for long.
func (c *conn) yield() {
	if c.pace.traffic >= turnBytes {
		c.pace.takeTurns(c.server.turns.Load(), 1)
	}
}

// stepAside waits for the turns that are owed for long commands. It sends nothing, since under appendfsync
// always each of a pipeline's commands would then wait for the disk.
func (c *conn) stepAside() {
	c.session.EndCall()
	c.pace.takeTurns(c.server.turns.Load(), min(c.pace.owed/turnBytes, maxTurns))
	c.pace.owed = 0
}

// rejectInput answers input that ends the connection.
func (c *conn) rejectInput(err error) {
	var protoErr protocolError
	if errors.As(err, &protoErr) {
		c.out.append([]byte("-ERR " + protoErr.Error() + "\r\n"))
		return
	}
	c.server.engine.Stats().QueryLimit.Add(1)
	c.logEnd(slog.LevelWarn, "closed by client-query-buffer-limit", "error", err)
}

// logEnd logs why the client is disconnected.
func (c *conn) logEnd(level slog.Level, why string, attrs ...any) {
	remote, _ := addresses(c.nc)
	attrs = append([]any{"addr", remote}, attrs...)
	if c.session != nil { // else making it has failed
		attrs = append([]any{"id", c.session.ID()}, attrs...)
	}
	c.server.log.Log(context.Background(), level, why, attrs...)
}

// logPanic logs a panic that ends the client. It is called while the stack unwinds.
func (c *conn) logPanic(p any) {
	c.logEnd(slog.LevelWarn, fmt.Sprintf("panic: %v", p), "stack", string(debug.Stack()))
}

// updateLimits applies limits that CONFIG SET has changed.
func (c *conn) updateLimits() {
	if l := c.server.limits.Load(); l != c.limits {
		if c.limits.idle == 0 {
			c.lastActive = time.Now() // not maintained without a timeout
		}
		c.limits = l
		c.in.setLimits(l.reader(c.session.Authenticated()))
		c.setOutputLimit()
		c.keepAlive()
	}
}

// countBuffers records the size of the buffers for trimIdle.
func (c *conn) countBuffers() { c.buffers.bytes.Store(int64(c.in.memory() + cap(c.out.buf))) }

func (c *conn) publish() {
	c.buffers.batches.Add(1)
	c.countBuffers()
	c.session.Publish(c.sizes(false))
}

// sizes returns what CLIENT LIST reports of the buffers. running says whether a
// command runs, or the connection is between two batches.
func (c *conn) sizes(running bool) engine.Buffers {
	used, unused := c.in.queryBuffer(running)
	return engine.Buffers{Query: used, QueryFree: unused, Memory: c.in.memory() + cap(c.out.buf)}
}

// linger sends the remaining replies and closes the connection so that they arrive:
// closing with input unread would be a reset, after which systems drop replies on
// their way.
func (c *conn) linger() {
	if !c.out.flushAll(c.server.lingerTimeout) {
		return
	}
	halfClose(c.nc)
}

// halfClose closes the sending side of a connection, and reads what still arrives
// until the client is silent.
func halfClose(nc net.Conn) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	ignored := make([]byte, minBuffer)
	now := time.Now()
	for end := now.Add(lingerTimeout); now.Before(end); now = time.Now() {
		nc.SetReadDeadline(now.Add(quietPeriod))
		if _, err := nc.Read(ignored); err != nil {
			return
		}
	}
}

func (c *conn) keepAlive() {
	nc := c.nc
	if c.out.tls != nil {
		nc = c.out.tls.wire.Conn
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	// As in Redis, probes begin after the interval and are sent at a third of it,
	// and the third unanswered one ends the connection.
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: c.limits.keepAlive > 0, Idle: c.limits.keepAlive,
		Interval: max((c.limits.keepAlive / 3).Truncate(time.Second), time.Second), Count: 3,
	})
}

// addresses returns a connection's addresses in CLIENT LIST. Both ends of a unix
// socket are its path and :0, as in Redis.
func addresses(nc net.Conn) (remote, local string) {
	local = nc.LocalAddr().String()
	if nc.LocalAddr().Network() == "unix" {
		local += ":0"
		return local, local
	}
	return nc.RemoteAddr().String(), local
}

// timedOut reports whether err is a deadline that has passed.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
