package server

import (
	"runtime"
	"slices"
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
	// passRounds is how many rounds it makes at most before it does.
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

	seated   seats
	round    []*conn // the connections of this round, in the order of arrival
	read     int     // how many of round have been read
	next     int     // how many of round have run
	more     []*conn // those that go on in the next round
	answered []*conn // those with replies to send at the end of the round
	streamed bool    // this round has written to the stream for replicas
	stamp    int64   // number of the round
	pace     pace
	work     *engine.Work // for the sessions, in turns; nil: one has it
	buffers  buffers
	passed   []chan struct{} // closed after this round

	clients atomic.Int64 // number of connections, and of those to come
	desk    desk
}

func newLoop(s *Server, p poll.Poller) *loop {
	l := &loop{server: s, poller: p}
	l.lease.loop = l
	l.lease.turn.Store(2) // a ticket of 0 is nobody's
	return l
}

// seats are the connections of a loop by their tokens.
type seats struct {
	conns []*conn // nil: free
	free  []int32 // free tokens
}

// take gives a connection a token.
func (s *seats) take(c *conn) {
	if n := len(s.free); n > 0 {
		c.seat.token, s.free = s.free[n-1], s.free[:n-1]
		s.conns[c.seat.token] = c
		return
	}
	c.seat.token = int32(len(s.conns))
	s.conns = append(s.conns, c)
}

// leave frees a connection's token. It reports whether the connection had one.
func (s *seats) leave(c *conn) bool {
	if s.conns[c.seat.token] != c {
		return false
	}
	s.conns[c.seat.token] = nil
	s.free = append(s.free, c.seat.token)
	return true
}

// empty reports whether no connection has a token.
func (s *seats) empty() bool { return len(s.conns) == len(s.free) }

// A pace is what a loop has done since the scheduler has looked at other descriptors.
type pace struct {
	work   int // bytes handled
	rounds int
}

// passes counts a round. It reports whether the scheduler is to look at other descriptors first.
func (p *pace) passes() bool {
	if p.rounds++; p.work < passTurns*turnBytes && p.rounds < passRounds {
		return false
	}
	*p = pace{}
	return true
}

// A desk is where other goroutines ask something of a loop.
type desk struct {
	mu     sync.Mutex
	taken  []*conn         // those posted before, which the loop looks at: its holder's
	posted []*conn         // protected by mu, as are the fields below: to be looked at
	turns  []chan struct{} // closed after the round that is to come
	idle   bool            // the loop has nothing under way, and waits for its poller
	closed bool
}

// post makes the loop look at a connection. Any goroutine may call it.
func (l *loop) post(c *conn) {
	if c.signals.posted.Swap(true) {
		return
	}
	d := &l.desk
	d.mu.Lock()
	d.posted = append(d.posted, c)
	wakes := d.idle
	d.idle = false
	d.mu.Unlock()
	if wakes {
		l.poller.Wake()
	}
}

// turn returns a channel that is closed when the loop has served what had arrived. Any goroutine may call it.
func (l *loop) turn() <-chan struct{} {
	served := make(chan struct{})
	d := &l.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		close(served)
		return served
	}
	d.turns = append(d.turns, served)
	l.poller.Wake()
	return served
}

// close ends the loop when it has no more connections. Any goroutine may call it.
func (l *loop) close() {
	d := &l.desk
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	l.poller.Wake()
}

// run holds the loop until it is robbed, or the loop ends.
func (l *loop) run() {
	defer l.server.loops.running.Done()
	for {
		if !l.serveRound() || !l.answer() {
			return
		}
		if !l.begin() {
			l.poller.Close()
			return
		}
	}
}

// serveRound runs what has arrived for the connections of the round. It returns false if the caller was
// robbed of the loop.
func (l *loop) serveRound() bool {
	for l.next < len(l.round) {
		if l.next == l.read {
			l.readGroup()
		}
		c := l.round[l.next]
		l.next++
		c.seat.queued = false
		if !l.serve(c) {
			return false
		}
	}
	return true
}

// begin waits, and finds the connections of the next round. It returns false if the loop has ended.
func (l *loop) begin() bool {
	l.goOn()
	l.pass()
	d := &l.desk
	d.mu.Lock()
	l.passed, d.turns = d.turns, nil
	if d.closed && len(d.posted) == 0 && l.seated.empty() {
		d.mu.Unlock()
		l.pass()
		return false
	}
	waits := len(l.round)+len(l.more)+len(d.posted)+len(l.passed) == 0
	d.idle = waits
	d.mu.Unlock()
	events := l.wait(waits)
	d.mu.Lock()
	d.idle = false
	d.posted, d.taken = d.taken[:0], d.posted
	d.mu.Unlock()
	l.stamp++
	for i, c := range d.taken {
		c.signals.posted.Store(false)
		switch {
		case !l.notice(c):
			d.taken[i] = nil
		case c.seat.unread: // since earlier rounds
			l.enqueue(c)
		}
	}
	for _, e := range events {
		if c := l.seated.conns[e.Token]; c != nil {
			c.seat.hears(e)
			if c.out.waits.Load() && c.out.resume() {
				l.post(c)
			}
			if e.Readable || !c.seat.away && c.phase == ending {
				l.enqueue(c)
			}
		}
	}
	for i, c := range d.taken { // nothing has arrived for them, or they have their turns
		if c != nil {
			d.taken[i] = nil
			l.enqueue(c)
		}
	}
	return true
}

// wait returns the events that there are. It blocks until there are some, or the poller is woken, if blocks
// says so.
func (l *loop) wait(blocks bool) []poll.Event {
	switch {
	case l.pace.passes():
		return l.poller.Pass()
	case blocks:
		return l.poller.Wait()
	}
	return l.poller.Poll()
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

// notice looks at a connection that was posted. It reports whether the connection has a turn in this round.
func (l *loop) notice(c *conn) bool {
	if c.signals.isBack() {
		c.seat.away = false
		if !l.settle(c) {
			return false
		}
		if c.goesOn() && c.turns() > 0 {
			l.defers(c)
		}
	} else if !c.seat.away && c.phase == arriving && !l.attach(c) {
		return false
	}
	if c.out.waits.Load() && c.out.resume() {
		l.post(c)
	}
	if c.seat.away {
		return false
	}
	if c.signals.shuttingDown.Load() && !c.seat.draining {
		c.drain()
	}
	c.seat.unread = c.seat.unread || c.seat.draining
	return true
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
	l.seated.take(c)
	c.phase = open
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
	if !l.seated.leave(c) {
		return
	}
	c.out.close() // if a panic has prevented it
	c.in = nil
	l.server.forget(c)
}

// readGroup reads what has arrived for the next connections, and the memory of the keys that they name.
func (l *loop) readGroup() {
	end := min(l.read+groupSize, len(l.round))
	for ; l.read < end; l.read++ {
		c := l.round[l.read]
		if c.seat.unread && !c.seat.away {
			l.pace.work += l.receive(c)
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
	n, more, err := c.transport.readSome(c.input().free())
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
	c.input()
	if c.out.buf == nil {
		c.out.buf = l.buffers.getOut()
	}
	if l.takesWork().Serve(c.session) {
		l.work = nil
	}
	ticket := l.lease.begin(c)
	c.progress.ticket = ticket
	c.survives(c.step)
	if !l.lease.end(ticket) {
		c.comeBack()
		return false
	}
	if l.settle(c) && c.goesOn() {
		l.defers(c)
	}
	return true
}

// takesWork returns the loop's Work.
func (l *loop) takesWork() *engine.Work {
	if l.work == nil {
		l.work = l.server.engine.NewWork()
	}
	return l.work
}

// settle notes what a connection has done. It returns false if it does not go on.
func (l *loop) settle(c *conn) bool {
	c.order.settle()
	if w := c.session.Release(); l.work == nil {
		l.work = w
	}
	if c.phase == gone {
		l.remove(c)
		return false
	}
	if at := c.session.Streamed(); at != c.seat.streamed {
		c.seat.streamed = at
		l.streamed = true
	}
	l.pace.work += c.progress.work
	if len(c.out.buf) > 0 && !c.seat.answered && !c.progress.unfinished {
		c.seat.answered = true
		l.answered = append(l.answered, c)
	}
	if len(c.out.buf) == 0 {
		c.out.buf = l.buffers.putOut(c.out.buf)
	}
	if c.signals.trim.Load() && c.signals.trim.Swap(false) {
		c.trim()
	}
	if !c.goesOn() {
		c.lend()
	}
	return true
}

// defers makes a connection part of a later round.
func (l *loop) defers(c *conn) {
	if !c.seat.queued {
		c.seat.queued = true
		c.seat.turns = c.turns()
		l.more = append(l.more, c)
	}
}

// answer sends the replies of a round. Replicas come first, so that a server that is killed has acknowledged
// little that they lack. Nothing is promised: WAIT does that. It returns false if the caller was robbed of
// the loop.
func (l *loop) answer() bool {
	if l.streamed {
		l.streamed = false
		runtime.Gosched()
	}
	if l.work != nil {
		l.work.Count()
	}
	if len(l.answered) == 0 {
		return true
	}
	if upTo := l.server.engine.Unsynced(); upTo != (engine.LogPosition{}) {
		if !l.answerDurable(upTo) {
			return false
		}
	} else {
		for _, c := range l.answered {
			c.send()
		}
	}
	for i, c := range l.answered {
		l.answered[i] = nil
		c.seat.answered = false
		c.out.buf = l.buffers.putOut(c.out.buf)
	}
	l.answered = l.answered[:0]
	return true
}

// answerDurable sends the replies of a round when what they tell of is on disk: the log up to a position.
// It returns false if the caller was robbed of the loop meanwhile; the connections were away then.
func (l *loop) answerDurable(upTo engine.LogPosition) bool {
	answered := l.answered
	ticket := l.lease.begin(nil)
	upTo.Sync()
	for _, c := range answered {
		c.sendDurable(upTo)
	}
	if l.lease.end(ticket) {
		return true
	}
	for _, c := range answered {
		c.signals.back.Store(true)
		l.post(c)
	}
	return false
}

// leaveAnswered makes others go on without the connections that the round has replies for.
func (l *loop) leaveAnswered() {
	for _, c := range l.answered {
		c.seat.answered, c.seat.queued, c.seat.away = false, false, true
	}
	l.answered = nil // who was robbed has it
	l.more = slices.DeleteFunc(l.more, func(c *conn) bool { return c.seat.away })
}

// A lease is the right to a loop. Its holder can be robbed of it while a connection's commands run, or a
// round's replies wait for the disk.
type lease struct {
	turn    atomic.Int64 // odd: a connection runs, or the disk is waited for
	current *conn        // that runs; nil: the replies of a round wait for the disk
	loop    *loop
}

// begin is called by the holder before a connection runs, or a round's replies wait for the disk.
func (x *lease) begin(c *conn) (ticket int64) {
	x.current = c
	ticket = x.turn.Load() + 1
	x.turn.Store(ticket) // before the watchdog is looked at: it looks at this when it falls asleep
	x.loop.server.loops.watch.wake()
	return ticket
}

// end reports whether the caller still holds the loop.
func (x *lease) end(ticket int64) bool { return x.turn.CompareAndSwap(ticket, ticket+1) }

// rob gives the loop to a new goroutine if its holder still does what the ticket was for.
func (x *lease) rob(ticket int64) {
	if ticket&1 == 0 || !x.turn.CompareAndSwap(ticket, ticket+1) {
		return
	}
	l := x.loop
	if c := x.current; c != nil {
		c.seat.away = true
	} else {
		l.leaveAnswered()
	}
	l.server.loops.running.Add(1)
	go l.run()
}
