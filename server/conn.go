package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/server/poll"
)

const (
	// flushBytes is how much output of a long pipeline is collected before it is
	// sent, while the rest still runs.
	flushBytes = 64 << 10
	// maxKeptOutput is the largest output buffer that a connection keeps between
	// batches.
	maxKeptOutput = 256 << 10
	// orderTimeout bounds how long a command waits for earlier commands of the
	// clients that it affects.
	orderTimeout = 10 * time.Millisecond
)

// A conn is the connection of one client. It belongs to its loop, which reads what arrives, makes it run by
// step, and sends the replies. While it is away, it belongs to the goroutine that runs its commands or waits
// for the disk.
//
// Other goroutines only set a flag and then wake it. To end the connection at once they abort it.
type conn struct {
	server    *Server
	loop      *loop
	transport transport
	carrier   transport // the transport, or what carries its records if it is over TLS
	session   *engine.Session
	limits    *connLimits // those in force
	in        *reader     // nil: nothing of a command has arrived
	out       output
	phase     phase
	seat      seat
	progress  progress
	life      life
	signals   signals
	order     order
	activity  activity
}

// A seat is what a loop knows of a connection. It belongs to the loop, also while the connection is away.
type seat struct {
	token    int32
	away     bool  // the connection belongs to a goroutine of its own
	queued   bool  // it is in round or more
	answered bool  // it is in answered
	unread   bool  // something may have arrived that is not read
	ended    bool  // the end of the stream may be behind it
	draining bool  // it answers what has arrived, and closes
	turns    int   // how many rounds it waits for, in more
	streamed int64 // of the session, at the last reply
}

// hears notes an event of the poller.
func (s *seat) hears(e poll.Event) {
	if e.Readable {
		s.unread = true
		s.ended = s.ended || e.Ended
	}
}

// progress is how far a connection has come with its input.
type progress struct {
	readErr    error       // why nothing more is read
	query      queryBuffer // the reader's, while the connection has none
	fresh      bool        // something was read since the last step
	unfinished bool        // it has input that goes on in the next round
	work       int         // bytes that the last step has handled
	ticket     int64       // of the loop, for the present step
	stamp      int64       // of the round in which the last input was read
	pipelines  bool        // the last batch was a pipeline, so the next may well be one
	subscribed bool        // the output limit is the one of subscribers
	muted      bool        // see Interception.Mute
	denied     bool        // by protected-mode, after a TLS handshake
	blockTimer *time.Timer
}

// take reports whether there is input that has not run, which is about to.
func (p *progress) take() bool {
	some := p.fresh || p.unfinished
	p.fresh, p.unfinished = false, false
	return some
}

// signals are what other goroutines tell a connection.
type signals struct {
	posted       atomic.Bool // it is in posted
	back         atomic.Bool // it was away, and belongs to the loop again
	handshaking  atomic.Bool // the TLS handshake is not over
	shuttingDown atomic.Bool // it is to answer what has arrived, and close
	trim         atomic.Bool // it is to release buffers
}

// isBack reports, once, whether the connection was away and belongs to the loop again.
func (s *signals) isBack() bool { return s.back.Swap(false) }

// A phase is what a connection does.
type phase uint8

const (
	arriving phase = iota // its loop has not taken it in
	open                  // it is served
	ending                // it sends what is left
	silent                // it has closed its sending side
	gone                  // it is closed
)

// activity is what trimIdle knows of a connection.
type activity struct {
	batches     atomic.Uint32 // number of batches run
	lastBatches uint32        // at trimIdle's last call
	bytes       atomic.Int64  // size of the buffers, between batches
}

// isIdle reports, for trimIdle, whether no batch has run since it was called last.
func (a *activity) isIdle() bool {
	batches := a.batches.Load()
	idle := batches == a.lastBatches
	a.lastBatches = batches
	return idle
}

var errNoLoop = errors.New("there is no loop for the connection")

// newConn returns the connection of a client. nc is closed, or the transport's, unless a TLS handshake is to
// come.
func newConn(s *Server, nc net.Conn) (*conn, error) {
	c := &conn{server: s}
	c.signals.posted.Store(true) // until add
	var err error
	if over, ok := nc.(*tlsConn); !ok {
		if c.carrier, err = newTransport(nc); err != nil {
			return nil, err
		}
		c.transport = c.carrier
	} else if err := c.carryTLS(over); err != nil {
		return nil, err
	}
	_, isSocket := c.carrier.(*socket)
	if isSocket && !c.signals.handshaking.Load() {
		nc.Close()
	}
	if c.loop = s.loops.pick(isSocket); c.loop == nil {
		c.carrier.close()
		return nil, errNoLoop
	}
	c.out.transport, c.out.owner = c.transport, c
	return c, nil
}

// begin makes the session. remote and local are the connection's addresses.
func (c *conn) begin(remote, local net.Addr) {
	s := c.server
	c.limits = s.limits.Load()
	c.life.lastActive = time.Now()
	fd := -1
	if socket, ok := c.carrier.(*socket); ok {
		fd = socket.fd
	}
	c.life.remote, c.life.local = addresses(remote, local)
	c.session = s.engine.NewSession(engine.Peer{
		Addr: c.life.remote, LocalAddr: c.life.local, Network: Network(remote),
		FD: fd, TLS: c.transport != c.carrier, Local: IsLocal(remote),
		Kill: c.abort, Wake: c.wake, Waits: c.leave, Streams: true, KeepsArgs: s.intercepts.program == nil,
		Orderer: c, Forwards: true, Shares: true,
		Buffers: func() engine.Buffers { return c.sizes(true) },
	})
	c.progress.query = newQueryBuffer()
	c.setOutputLimit()
	c.keepAlive()
	c.session.SetBuffers(c.sizes(false))
}

// add gives the connection to its loop.
func (c *conn) add() {
	c.signals.posted.Store(false)
	c.loop.post(c)
}

// abort ends the connection for its loop, or its handshake. Any goroutine may call it.
func (c *conn) abort() { c.carrier.shutdown() }

// survives calls fn. A panic in it ends only this client.
func (c *conn) survives(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(p)
		}
	}()
	fn()
}

// step runs what has arrived, and notes how the connection goes on.
func (c *conn) step() {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(p)
			c.renewWork()
			c.end(true) // earlier commands are answered
		}
	}()
	c.progress.work = 0
	switch c.phase {
	case open:
		c.serve()
	case ending:
		c.finish()
	case silent:
		c.listen()
	}
}

// renewWork replaces the session's Work after a panic, which may have left anything in it.
func (c *conn) renewWork() {
	if w := c.session.Release(); w != nil {
		w.Count()
		c.server.engine.NewWork().Serve(c.session)
	}
}

// serve runs what has arrived for an open connection.
func (c *conn) serve() {
	c.updateLimits()
	if c.progress.denied {
		c.out.append([]byte(deniedError))
		c.end(true)
		return
	}
	if c.progress.take() || c.session.Ready() {
		if c.out.sent = false; !c.batch() {
			c.end(true)
			return
		}
	}
	switch {
	case c.progress.unfinished:
	case c.progress.readErr != nil:
		// A client may close its sending side and read on, as in `printf 'PING\r\n' | nc`.
		c.end(errors.Is(c.progress.readErr, io.EOF) || errors.Is(c.progress.readErr, errShuttingDown))
	case c.limits.idle > 0 && c.isIdle():
		c.end(false)
	}
}

// turns returns how many rounds, after the next, the connection waits for in return for what it has done.
func (c *conn) turns() int { return min(c.progress.work/turnBytes, maxTurns) - 1 }

// goesOn reports whether the connection has something to do in the next round, without anything new.
func (c *conn) goesOn() bool {
	switch c.phase {
	case open:
		return c.seat.unread || c.progress.unfinished
	case silent:
		return c.seat.unread
	}
	return false
}

// input returns the reader, one of the loop's if the connection has none.
func (c *conn) input() *reader {
	if c.in == nil {
		c.in = c.loop.buffers.get()
		c.in.query = c.progress.query
		c.in.setLimits(c.limits.reader(c.session.Authenticated()))
	}
	return c.in
}

// lend gives an idle reader back to the loop, for others.
func (c *conn) lend() {
	if c.in != nil && c.in.isIdle() {
		c.progress.query = c.in.query
		c.loop.buffers.put(c.in)
		c.in = nil
	}
}

func (c *conn) filled(n int) {
	c.in.filled(n)
	c.progress.fresh = true
	c.loop.takesWork().CountRead(n)
	if c.limits.idle > 0 || c.seat.draining {
		c.life.lastActive = time.Now()
	}
}

// batch runs complete commands that have arrived. It reports whether the connection stays open.
func (c *conn) batch() bool {
	open := true
	if b := c.session.Blocked(); b != nil {
		if !b.Over() {
			c.publish()
			return c.deliver() && c.checkQueryLimit()
		}
		c.stopBlockTimer()
		if c.limits.idle > 0 {
			c.life.lastActive = time.Now()
		}
		open = c.appendReply(c.session.Resume())
	}
	ran, ahead := 0, 0 // commands of this batch, and those of them that were read ahead
	in := c.in
	from := in.start
	for ; open && c.session.Blocked() == nil; ran++ {
		if ran > 0 && c.progress.work+in.start-from >= turnBytes {
			c.progress.unfinished = true
			break
		}
		if ran >= ahead && c.progress.pipelines {
			ahead = ran + c.readAhead()
		}
		args, ok, err := in.next()
		if err != nil {
			c.appendForwarded()
			c.rejectInput(err)
			open = false
		}
		if !ok {
			break
		}
		var reply resp.Value
		if c.server.intercepts.faults == nil {
			reply = c.session.Do(args)
		} else if reply, open = c.doIntercepted(args); !open {
			break
		}
		open = c.appendReply(reply)
		c.progress.work += c.session.TakeLongArgs() * argBytes
	}
	c.progress.pipelines = ran > 1
	open = c.appendForwarded() && open
	if c.session.Aborted() {
		c.out.buf = c.out.buf[:0]
	}
	open = open && c.deliver()
	c.progress.work += in.start - from + len(c.out.buf)
	c.publish()
	return open
}

// readAhead reads the memory of the keys of the next commands. It returns how many these are, at least one.
func (c *conn) readAhead() int {
	db, ok := c.session.Ahead()
	if !ok {
		return 1
	}
	var room [engine.ReadAheadCalls]engine.Arrived
	arrived := c.in.peek(room[:0])
	if len(arrived) > 1 {
		c.server.engine.ReadAhead(db, arrived)
	}
	return max(len(arrived), 1)
}

// appendReply appends a command's reply to the output. It reports whether the
// connection stays open.
func (c *conn) appendReply(reply resp.Value) bool {
	if c.progress.muted {
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
		c.progress.work += len(c.out.buf)
		if open = c.flush() && open; !c.out.sent {
			c.session.EnforceClientMemory() // a long pipeline may ask for any amount
		}
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
	c.progress.work += len(c.out.buf)
	if blocks, ok := reply.(*resp.Blocks); ok {
		c.progress.work += blocks.Size()
	}
	open := c.waitDurable(c.server.engine.Unsynced()) && c.out.stream(reply)
	if !c.out.sent {
		c.session.EnforceClientMemory()
	}
	return open
}

// appendForwarded appends the replies of calls that the session has collected for its upstream. It
// reports whether the connection stays open.
func (c *conn) appendForwarded() bool {
	reply := c.session.ForwardBatch()
	return reply.Kind() == resp.KindNone && !c.session.Closing() || c.appendReply(reply)
}

// flush sends the collected replies in the middle of a batch. Replicas come first; see loop.answer.
func (c *conn) flush() bool {
	if c.session.Streamed() != c.seat.streamed {
		runtime.Gosched()
	}
	return c.waitDurable(c.server.engine.Unsynced()) && c.out.flush()
}

// waitDurable waits until replies may be sent, which tell of the log up to a position. It returns false if
// they must not be.
func (c *conn) waitDurable(upTo engine.LogPosition) bool {
	if upTo == (engine.LogPosition{}) {
		return true
	}
	c.leave()
	if c.server.engine.WaitDurable(upTo, c.session.Written(), nil) != nil {
		c.out.buf = c.out.buf[:0]
		c.abort()
		return false
	}
	return true
}

// send sends the replies of a round.
func (c *conn) send() {
	if c.out.flush(); !c.out.sent {
		c.session.EnforceClientMemory()
	}
}

// sendDurable is send, and waits for the disk.
func (c *conn) sendDurable(upTo engine.LogPosition) {
	c.survives(func() {
		if c.waitDurable(upTo) {
			c.send()
		}
	})
}

// leave makes others go on without this connection, which is about to wait. It is called within step.
func (c *conn) leave() { c.loop.lease.rob(c.progress.ticket) }

// comeBack ends a step during which the loop went on without the connection.
func (c *conn) comeBack() {
	c.session.Count()
	c.order.settle() // before the client can send more
	if len(c.out.buf) > 0 {
		c.sendDurable(c.server.engine.Unsynced())
	}
	c.signals.back.Store(true)
	c.loop.post(c)
}

// wake makes the loop look at the connection. Any goroutine may call it.
func (c *conn) wake() { c.loop.post(c) }

// rejectInput answers input that ends the connection.
func (c *conn) rejectInput(err error) {
	var protoErr protocolError
	if errors.As(err, &protoErr) {
		c.out.append([]byte("-ERR " + protoErr.Error() + "\r\n"))
		return
	}
	c.server.engine.Stats().Refusals.QueryLimit.Add(1)
	c.logEnd(slog.LevelWarn, "closed by client-query-buffer-limit", "error", err)
}

// logEnd logs why the client is disconnected.
func (c *conn) logEnd(level slog.Level, why string, attrs ...any) {
	attrs = append([]any{"addr", c.life.remote}, attrs...)
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
			c.life.lastActive = time.Now() // not maintained without a timeout
		}
		if l.idle < c.limits.idle && !c.seat.draining {
			c.life.stop() // it would be too late
		}
		c.limits = l
		if c.in != nil {
			c.in.setLimits(l.reader(c.session.Authenticated()))
		}
		c.setOutputLimit()
		c.keepAlive()
	}
}

// trim releases what an idle connection does not need.
func (c *conn) trim() {
	if c.in != nil {
		if c.in.release(); len(c.in.buf) == 0 {
			c.progress.query, c.in = c.in.query, nil
		}
	}
	c.out.release()
	sizes := c.sizes(false)
	c.activity.bytes.Store(int64(sizes.Memory))
	c.session.SetBuffers(sizes)
}

func (c *conn) publish() {
	c.activity.batches.Add(1)
	sizes := c.sizes(false)
	c.activity.bytes.Store(int64(sizes.Memory))
	c.session.Publish(sizes)
}

// sizes returns what CLIENT LIST reports of the buffers. running says whether a
// command runs, or the connection is between two batches.
func (c *conn) sizes(running bool) engine.Buffers {
	if c.in == nil {
		return engine.Buffers{QueryFree: c.progress.query.size, Memory: cap(c.out.buf)}
	}
	used, unused := c.in.queryBuffer(running)
	return engine.Buffers{Query: used, QueryFree: unused, Memory: c.in.memory() + cap(c.out.buf)}
}

func (c *conn) keepAlive() {
	if k, ok := c.carrier.(interface{ keepAlive(d time.Duration) }); ok {
		k.keepAlive(c.limits.keepAlive)
	}
}

// addresses returns a connection's addresses in CLIENT LIST. Both ends of a unix
// socket are its path and :0, as in Redis.
func addresses(remote, local net.Addr) (from, to string) {
	to = local.String()
	if local.Network() == "unix" {
		to += ":0"
		return to, to
	}
	return remote.String(), to
}
