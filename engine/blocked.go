package engine

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/slowlog"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Blocked is the wait of a session whose command found no key, until its reply.
// See docs/adr/0006-blocking.md.
//
// It is ended by a command that creates a key, the timeout, CLIENT UNBLOCK or the end of the session: by the
// one that claims the waiter; the others leave it alone. To end it is to set a flag and call Peer.Wake. The
// session's own goroutine then gets the reply from Resume.
type Blocked struct {
	session   *Session
	cmd       *commands.Command // nil: the wait is not the command's, so its end is not counted
	wait      *commands.Wait
	waiter    store.Waiter
	awaited   *future           // what it waits for instead of a key
	postponed *postponedCommand // the command that CLIENT PAUSE postpones; nil: it waits for something else
	silent    bool              // CLIENT REPLY: the reply is not sent
	call      *blockedCall      // nil: what the command takes is not measured
	room      *roomWait         // nil: it does not wait for room

	reply resp.Value // written before done, by the one that has claimed the waiter
	last  bool       // so is this: the connection is closed after the reply
	done  atomic.Bool
}

// A future is a reply that is computed beside the session: of a command that waits
// for a file to be written or synced, or for its own timeout.
type future struct {
	// run returns the reply, or resp.None if the wait ends in another way. It
	// returns soon after over is closed.
	run func(over <-chan struct{}) resp.Value
	// timedOut returns the reply if the time is up first; nil: there is no timeout.
	timedOut func() resp.Value

	over chan struct{} // closed when the wait has ended

	ended func() // is called by Resume; it may be nil
}

// A postponedCommand is one that waits for the end of a pause, or for its turn to log in.
type postponedCommand struct {
	pause.Command
	args     [][]byte
	request  request
	released bool // it may run; written before the wait is over
}

// A blockedCall is a call that waits. It is logged when it was served, with the time that
// it ran before and after the wait, as in Redis; the connection's buffers may have other
// arguments then. A call that times out is not logged.
type blockedCall struct {
	args    []string // as SLOWLOG shows them; nil: it is not logged
	timed   bool     // it is of the sample that is timed
	startUs int64    // on Clock.MonotonicUs
	ranUs   int64    // before the wait, and after it when it has ended
}

// A roomWait is the part of a Blocked that waits for room in its keys. See docs/adr/0054-waiting.md.
//
// Whoever holds the shards of its keys may call its command again. It leaves the queues of its keys under
// these shards; who ends the wait without them, such as a client that hangs up, claims it and calls left.
type roomWait struct {
	args [][]byte
	over atomic.Bool // CLIENT UNBLOCK has ended its time

	// The fields up to mu belong to the holder of the shards. The session may go on meanwhile, if something
	// else has ended the wait: so its command has a context of its own.
	ctx     commands.Ctx
	env     commands.Env
	ranUs   int64
	claimed bool // by its own call

	// Protected by waits.mu:
	dueMs int64 // when to look at it again
	seq   int64 // order of arrival
	at    int   // its index in the heap; notWaiting: it has left
}

const notWaiting = -1

var errPanicked = resp.Error("ERR the command failed inside the server, whose log says where")

// Over reports whether the wait has ended, so that Resume returns the reply.
func (b *Blocked) Over() bool { return b.done.Load() }

// TimeoutMs returns after how many milliseconds to call TimeOut; 0: never.
func (b *Blocked) TimeoutMs() int64 { return b.wait.TimeoutMs }

// count adds n to the waits, and to those that have a timeout if this one has.
func (b *Blocked) count(n int64) {
	b.session.engine.stats.Blocked.Add(n, b.wait.Room != nil || b.wait.TimeoutMs > 0)
}

// TimeOut ends the wait with the reply of a timeout, unless it has ended. A panic ends the client only. Any
// goroutine may call it.
func (b *Blocked) TimeOut() {
	defer b.endOnPanic()
	b.unblock(b.timedOut())
}

func (b *Blocked) timedOut() resp.Value {
	if b.awaited != nil && b.awaited.timedOut != nil {
		return b.awaited.timedOut()
	}
	return b.wait.TimedOut
}

// unblock ends the wait with a reply. It reports whether it had not ended before.
func (b *Blocked) unblock(reply resp.Value) bool {
	if !b.waiter.Claim() {
		return false
	}
	b.countEnd(&reply)
	b.end(reply)
	return true
}

// isOpen reports whether the wait is for something that may never come: a key, or replicas.
func (b *Blocked) isOpen() bool {
	return b.postponed == nil && (b.awaited == nil || b.awaited.timedOut != nil)
}

// countEnd counts a reply that is an error, as a failure of the call.
func (b *Blocked) countEnd(reply *resp.Value) {
	if b.cmd != nil && reply.IsError() {
		b.session.engine.stats.Errors.Count(reply.Str())
		b.countFailure()
	}
}

func (b *Blocked) countFailure() {
	b.session.engine.stats.Add(b.session.id, &commands.CallCount{Cmd: b.cmd, Failed: 1})
}

// end ends the wait. The caller must have claimed the waiter.
func (b *Blocked) end(reply resp.Value) {
	s := b.session
	s.shown.edit(func(p *public) { p.blocked = false })
	b.count(-1) // after edit, and so after the Add of show
	if b.call != nil && b.call.timed {
		s.engine.stats.Latency(b.cmd).Add(b.call.ranUs)
	}
	b.awaited.cancel()
	b.reply = reply
	if s.inbox.subscriber.Mail.IsOpen() && !b.silent { // so that it takes its place among the messages
		s.inbox.subscriber.Mail.Put(pubsub.NewMessage(reply), s.engine.broker.Limit(&s.inbox.subscriber))
		b.silent = true
	}
	b.done.Store(true)
	s.inbox.subscriber.WakeUp()
}

// cancel makes run return. Only the goroutine that has claimed the waiter calls it.
func (f *future) cancel() {
	if f != nil {
		close(f.over)
	}
}

// endOnPanic is deferred: it logs a panic, and ends the wait and then the connection.
func (b *Blocked) endOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	s := b.session
	logPanic(s, p)
	switch {
	case b.waiter.Claim():
		b.last = true
		if b.awaited != nil {
			b.awaited.ended = nil
		}
		b.countEnd(&errPanicked)
		b.end(errPanicked)
	case !b.done.Load() && s.peer.Kill != nil: // the panic came while the wait ended: it would go on forever
		s.peer.Kill()
	}
}

// logPanic logs what a deferred function has recovered.
func logPanic(s *Session, p any) {
	s.engine.options.Log.Warn(fmt.Sprintf("panic: %v", p), "id", s.ID(), "stack", string(debug.Stack()))
}

// show sets the session's wait. A client that finds it in INFO's count finds it, and its command, in CLIENT
// LIST, and can unblock it.
func (b *Blocked) show() {
	s := b.session
	s.shown.edit(func(p *public) {
		p.blocked = true
		p.noteCommand(s)
		s.shown.blocked.Store(b)
		b.count(1)
	})
}

// postpone blocks the session until its call is released.
func (s *Session) postpone(c *postponedCommand, args [][]byte) *Blocked {
	c.args, c.request = cloneArgs(args), s.work.req
	c.request.resumed = true
	b := &Blocked{session: s, wait: &commands.Wait{TimedOut: resp.NullArray}, silent: true, postponed: c}
	b.waiter.Owner = b
	c.Release = b.release
	s.work.req.postponed = true
	b.show()
	return b
}

// release lets a postponed command run. It reports false if the wait was ended.
func (b *Blocked) release() bool {
	if !b.waiter.Claim() {
		return false
	}
	b.postponed.released = true
	b.end(resp.None)
	return true
}

// measured runs the rest of a blocked session's call. The session does nothing meanwhile.
func (b *Blocked) measured(serve func() resp.Value) resp.Value {
	if b.call == nil {
		return serve()
	}
	e := b.session.engine
	startUs := e.clock.MonotonicUs()
	reply := serve()
	b.ranAgain(e.clock.MonotonicUs() - startUs)
	return reply
}

// ranAgain adds what it took to serve the wait, which the caller has claimed.
func (b *Blocked) ranAgain(us int64) {
	if b.call == nil {
		return
	}
	b.session.engine.slow.event(latency.Unblocking, us)
	b.call.ranUs += us
	b.log(b.call.ranUs)
}

// logRun logs a call that is computed beside its session, such as SAVE, when that has ended.
func (b *Blocked) logRun() {
	if b.call == nil {
		return
	}
	us := b.session.engine.clock.MonotonicUs() - b.call.startUs
	b.session.engine.slow.event(eventOf(b.cmd), us)
	b.call.ranUs = us
	b.log(us)
}

func (b *Blocked) log(us int64) {
	if b.call.args == nil || b.cmd.Is(commands.SkipSlowlog) {
		return
	}
	b.session.engine.slow.logCall(us, func() slowlog.Entry { return b.session.shown.slowEntry(b.call.args) })
}

// waitBytes is what a call that waits takes, without the bytes of its arguments.
const waitBytes = int(unsafe.Sizeof(Blocked{}) + unsafe.Sizeof(roomWait{}) + unsafe.Sizeof(commands.Wait{}) +
	unsafe.Sizeof(commands.RoomWait{}) + unsafe.Sizeof(Work{}))

// bytes returns what the wait takes in memory.
func (b *Blocked) bytes() (n int64) {
	if b == nil || b.room == nil {
		return 0
	}
	n = int64(waitBytes)
	for _, arg := range b.room.args {
		n += 3 * int64(len(arg)+int(unsafe.Sizeof(arg))) // arguments, names of the Wait, names of the queues
	}
	return n
}
