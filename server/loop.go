package server

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server/poll"
)

const (
	// turnBytes is how much of one connection's input and output is handled in a round before others have
	// theirs: about a millisecond's work.
	turnBytes = 64 << 10
	// argBytes is what each argument of a long command counts for beside its bytes: see Session.TakeLongArgs.
	argBytes = turnBytes / 1000
	// maxTurns is how many rounds a connection waits for at most, so that a huge command is not followed by a
	// wait that is as long.
	maxTurns = 16
	// passTurns is how many turns' work a loop does before it lets the scheduler look at other descriptors.
	passTurns = 2
	// passRounds bounds the rounds in between likewise.
	passRounds = 64
	// groupSize is how many connections are read before their commands run.
	groupSize = engine.ReadAheadCalls
)

// A loop serves connections. It goes around: it waits, and then reads what has arrived and runs it, a group
// of connections after the other; at the end of a round it sends all replies.
//
// One goroutine at a time holds a loop; what is not marked belongs to it, and so do the loop's connections.
// While a connection's commands run, it can be robbed of the loop (see lease): another goroutine goes on with
// the others, and the late one is left with that connection, which is away until the late one brings it back.
type loop struct {
	server *Server
	poller poll.Poller
	lease  lease

	conns    []*conn // by token; nil: free
	free     []int32 // free tokens
	round    []*conn // the connections of this round, in the order of arrival
	read     int     // how many of round have been read
	next     int     // how many of round have run
	more     []*conn // those that go on in the next round
	answered []*conn // those with replies to send at the end of the round
	streamed bool    // this round has written to the stream for replicas
	work     int     // bytes handled since the scheduler has looked at other descriptors
	rounds   int     // likewise
	stamp    int64   // number of the round
	buffers  buffers
	passed   []chan struct{} // closed after this round

	clients atomic.Int64 // number of connections, of those to come, too

	mu     sync.Mutex
	posted []*conn         // protected by mu, as are the fields below: to be looked at
	taken  []*conn         // the last posted
	turns  []chan struct{} // closed after the round that is to come
	idle   bool            // nothing is under way: the poller is waited for
	closed bool
}

// post makes the loop look at a connection. Any goroutine may call it.
func (l *loop) post(c *conn) {
	if c.signals.posted.Swap(true) {
		return
	}
	l.mu.Lock()
	l.posted = append(l.posted, c)
	wakes := l.idle
	l.idle = false
	l.mu.Unlock()
	if wakes {
		l.poller.Wake()
	}
}

// turn returns a channel that is closed when the loop has served what had arrived.
func (l *loop) turn() <-chan struct{} {
	served := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		close(served)
		return served
	}
	l.turns = append(l.turns, served)
	l.poller.Wake()
	return served
}

// close ends the loop when it has no more connections.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.poller.Wake()
}

// run holds the loop until it is robbed, or the loop ends.
func (l *loop) run() {
	defer l.server.loops.running.Done()
	for {
		for l.next < len(l.round) {
			if l.next == l.read {
				l.readGroup()
			}
			c := l.round[l.next]
			l.next++
			c.seat.queued = false
			if !l.serve(c) {
				return
			}
		}
		l.answer()
		if !l.begin() {
			l.poller.Close()
			return
		}
	}
}

// begin waits, and finds the connections of the next round. It returns false if the loop has ended.
func (l *loop) begin() bool {
	l.goOn()
	l.pass()
	l.mu.Lock()
	l.passed, l.turns = l.turns, nil
	if l.closed && len(l.posted) == 0 && len(l.conns) == len(l.free) {
		l.mu.Unlock()
		l.pass()
		return false
	}
	l.idle = len(l.round)+len(l.more)+len(l.posted)+len(l.passed) == 0
	waits := l.idle
	l.mu.Unlock()
	var events []poll.Event
	switch l.rounds++; {
	case l.work >= passTurns*turnBytes, l.rounds >= passRounds:
		l.work, l.rounds = 0, 0
		events = l.poller.Pass()
	case waits:
		events = l.poller.Wait()
	default:
		events = l.poller.Poll()
	}
	l.mu.Lock()
	l.idle = false
	l.posted, l.taken = l.taken[:0], l.posted
	l.mu.Unlock()
	if waits {
		l.lease.turn.Add(2) // before the watchdog is looked at: it looks at this when it falls asleep
		l.server.loops.watch.wake()
	}
	l.stamp++
	for i, c := range l.taken {
		l.taken[i] = nil
		c.signals.posted.Store(false)
		l.notice(c)
	}
	for _, e := range events {
		if c := l.conns[e.Token]; c != nil {
			c.seat.hears(e)
			if c.out.waits.Load() && c.out.resume() {
				l.post(c)
			}
			if e.Readable || !c.seat.away && c.phase == ending {
				l.enqueue(c)
			}
		}
	}
	return true
}

// goOn begins a round with the connections that go on in it.
func (l *loop) goOn() {
	clear(l.round)
	l.round, l.read, l.next = l.round[:0], 0, 0
	later := l.more[:0]
	for _, c := range l.more {
		if c.seat.turns > 0 {
			c.seat.turns--
			later = append(later, c)
		} else {
			l.round = append(l.round, c)
		}
	}
	clear(l.more[len(later):])
	l.more = later
}

// pass tells those who wait for it that a round has ended.
func (l *loop) pass() {
	for _, served := range l.passed {
		close(served)
	}
	l.passed = nil
}

// notice looks at a connection that was posted.
func (l *loop) notice(c *conn) {
	if c.signals.isBack() {
		c.seat.away = false
		if !l.settle(c) {
			return
		}
	} else if !c.seat.away && c.phase == arriving && !l.attach(c) {
		return
	}
	if c.out.waits.Load() && c.out.resume() {
		l.post(c)
	}
	if c.seat.away {
		return
	}
	if c.signals.shuttingDown.Load() && !c.seat.draining {
		c.drain()
	}
	c.seat.unread = c.seat.unread || c.seat.draining
	l.enqueue(c)
}

// enqueue makes a connection part of the round.
func (l *loop) enqueue(c *conn) {
	if !c.seat.queued && !c.seat.away && c.phase != gone {
		c.seat.queued = true
		l.round = append(l.round, c)
	}
}

// attach takes a connection in.
func (l *loop) attach(c *conn) bool {
	if n := len(l.free); n > 0 {
		c.seat.token, l.free = l.free[n-1], l.free[:n-1]
		l.conns[c.seat.token] = c
	} else {
		c.seat.token = int32(len(l.conns))
		l.conns = append(l.conns, c)
	}
	c.phase = open
	c.in.buffers = &l.buffers
	c.seat.unread = c.carrier != c.transport // a handshake reads what follows it, too
	if err := c.transport.attach(l, c.seat.token); err != nil {
		c.survives(func() { c.end(false) })
		l.remove(c)
		return false
	}
	return true
}

// remove forgets a connection that is gone.
func (l *loop) remove(c *conn) {
	if l.conns[c.seat.token] != c {
		return
	}
	c.out.close() // if a panic has prevented it
	l.conns[c.seat.token] = nil
	l.free = append(l.free, c.seat.token)
	c.in.lend()
	l.server.forget(c)
}

// readGroup reads what has arrived for the next connections, and the memory of the keys that they name.
func (l *loop) readGroup() {
	end := min(l.read+groupSize, len(l.round))
	for ; l.read < end; l.read++ {
		c := l.round[l.read]
		if c.seat.unread && !c.seat.away {
			l.work += l.receive(c)
		}
	}
	if l.server.engine.ReadsAhead() {
		l.readAhead(l.round[l.next:l.read])
	}
}

// readAhead reads the memory of the keys of a group's first commands.
func (l *loop) readAhead(group []*conn) {
	var room [groupSize]engine.Arrived
	n, first := 0, 0
	for _, c := range group {
		if c.seat.away || !c.progress.fresh {
			continue
		}
		db, ok := c.session.Ahead()
		if n == 0 {
			first = db
		}
		if ok && db == first {
			n = len(c.in.peek(room[: n : n+1]))
		}
	}
	if n > 1 {
		l.server.engine.ReadAhead(first, room[:n])
	}
}

// receive reads what has arrived for a connection. It returns how many bytes.
func (l *loop) receive(c *conn) int {
	if c.phase == ending || c.phase == gone {
		return 0
	}
	c.order.runs(l.stamp) // before what is read is no longer unread
	n, more, err := c.transport.readSome(c.in.free())
	c.seat.unread = more || n > 0 && c.seat.ended
	if err != nil {
		c.progress.readErr = err
	}
	switch {
	case c.phase == silent:
		c.life.heard = c.life.heard || n > 0
	case n > 0:
		c.filled(n)
		c.progress.stamp = l.stamp
	default:
		c.order.rests()
	}
	if c.seat.draining && err == nil {
		if c.drained(n) {
			c.progress.readErr = errShuttingDown
		} else {
			c.seat.unread = n > 0
		}
	}
	return n
}

// serve runs what has arrived for a connection. It returns false if the caller was robbed of the loop.
func (l *loop) serve(c *conn) bool {
	if c.seat.away || c.phase == gone { // since it was read
		return true
	}
	if c.out.buf == nil {
		c.out.buf = l.buffers.getOut()
	}
	ticket := l.lease.begin(c)
	c.progress.ticket = ticket
	c.survives(c.step)
	if !l.lease.end(ticket) {
		c.comeBack()
		return false
	}
	l.settle(c)
	return true
}

// settle notes how a connection goes on after it has run. It returns false if it does not.
func (l *loop) settle(c *conn) bool {
	c.order.settle()
	if c.phase == gone {
		l.remove(c)
		return false
	}
	if at := c.session.Streamed(); at != c.seat.streamed {
		c.seat.streamed = at
		l.streamed = true
	}
	l.work += c.progress.work
	if len(c.out.buf) > 0 && !c.seat.answered && !c.progress.unfinished {
		c.seat.answered = true
		l.answered = append(l.answered, c)
	}
	if len(c.out.buf) == 0 {
		c.out.buf = l.buffers.putOut(c.out.buf)
	}
	if c.signals.trim.Load() && c.signals.trim.Swap(false) {
		c.in.release()
		c.out.release()
		c.countBuffers()
		c.session.SetBufferBytes(int(c.activity.bytes.Load()))
	}
	switch {
	case c.seat.unread && c.phase != ending, c.progress.unfinished:
		if !c.seat.queued {
			c.seat.queued = true
			c.seat.turns = min(c.progress.work/turnBytes, maxTurns) - 1
			l.more = append(l.more, c)
		}
	default:
		c.in.lend()
	}
	return true
}

// answer sends the replies of a round. Replicas come first, so that a server that is killed has acknowledged
// little that they lack. Nothing is promised: WAIT does that.
func (l *loop) answer() {
	if l.streamed {
		l.streamed = false
		runtime.Gosched()
	}
	if len(l.answered) == 0 {
		return
	}
	if !l.server.engine.Durable() {
		l.park()
		return
	}
	for i, c := range l.answered {
		l.answered[i] = nil
		c.seat.answered = false
		c.send()
		c.out.buf = l.buffers.putOut(c.out.buf)
	}
	l.answered = l.answered[:0]
}

// park leaves the replies of a round to a goroutine, which sends them when what they tell of is on disk.
// Until then these connections are away.
func (l *loop) park() {
	parked := append([]*conn(nil), l.answered...)
	for i, c := range parked {
		l.answered[i] = nil
		c.seat.answered, c.seat.away = false, true
		if c.seat.queued {
			c.seat.queued = false
		}
	}
	l.answered = l.answered[:0]
	l.more = withoutAway(l.more)
	l.server.wg.Go(func() {
		for _, c := range parked {
			c.sendDurable()
		}
		for _, c := range parked {
			c.signals.back.Store(true)
			l.post(c)
		}
	})
}

// withoutAway drops what is away from a list.
func withoutAway(list []*conn) []*conn {
	kept := list[:0]
	for _, c := range list {
		if !c.seat.away {
			kept = append(kept, c)
		}
	}
	clear(list[len(kept):])
	return kept
}

// A lease is the right to a loop, of which its holder can be robbed while a connection's commands run.
type lease struct {
	turn    atomic.Int64 // odd: a connection runs
	current *conn        // that runs
	loop    *loop
}

// begin is called by the holder before a connection runs.
func (x *lease) begin(c *conn) (ticket int64) {
	x.current = c
	ticket = x.turn.Load() + 1
	x.turn.Store(ticket)
	return ticket
}

// end reports whether the caller still holds the loop.
func (x *lease) end(ticket int64) bool { return x.turn.CompareAndSwap(ticket, ticket+1) }

// rob takes the loop from its holder if the same connection still runs, and gives it to a new goroutine.
func (x *lease) rob(ticket int64) {
	if ticket&1 == 0 || !x.turn.CompareAndSwap(ticket, ticket+1) {
		return
	}
	c := x.current
	c.seat.away = true
	l := x.loop
	l.server.loops.running.Add(1)
	go l.run()
}
