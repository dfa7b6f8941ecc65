package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// A Session is one client of an engine. Do and Close belong to one goroutine;
// other sessions see only what Publish last showed of it.
type Session struct {
	engine *Engine
	peer   Peer
	id     int64
	ctx    commands.Ctx

	authenticated bool
	proto         int
	tx            transaction
	watch         *store.Watch
	replies       replyMode
	closing       bool
	dead          atomic.Bool    // killed, see die
	locked        bool           // the command under way holds a shard
	noTouch       bool           // CLIENT NO-TOUCH: what it reads does not count as used
	untouched     store.ShardSet // those that the command under way holds in that way
	served        []*Blocked     // whom the command under way has served, and nobody has told yet
	group         effects.Group  // what the command under way does to the keyspace, where it is recorded
	notified      int            // how many of its changes were told of
	subscribed    bool           // to any of topics
	subscriber    pubsub.Subscriber
	before        []byte   // messages that precede the reply of the command under way
	recording     bool     // what the command under way changes is recorded in group
	tracking      tracking // CLIENT TRACKING
	monitoring    bool
	silent        atomic.Bool             // by CLIENT REPLY OFF: what MONITOR shows is not for it
	trace         *trace                  // nil until somebody watches
	postponed     bool                    // the command under way is held by CLIENT PAUSE
	released      bool                    // and may run now
	answered      bool                    // EXEC has obeyed CLIENT REPLY itself
	aborted       bool                    // see Aborted
	concerned     []*Session              // scratch of letEarlierRun
	blocked       atomic.Pointer[Blocked] // written by the session's goroutine; nil: it does not wait
	errand        *errand                 // what the command under way leaves to wait for
	written       durable.Position        // where its own writes end in the log
	canceler      durable.Canceler        // see Cancel
	canceled      bool                    // see Canceled
	run           run                     // calls of one command in a row, not yet counted
	chance        uint32                  // which calls are timed
	reads         int64                   // not yet counted: see traffic.go
	readBytes     int64                   // likewise

	mu     sync.Mutex
	public public // protected by mu
}

// A Peer is the connection behind a session, as CLIENT LIST and CLIENT KILL
// know it.
type Peer struct {
	Addr, LocalAddr string
	FD              int
	Local           bool // on this machine: "enable-debug-command local" lets it in
	Owner           bool // the program that runs the engine: it needs no password and may debug
	Streams         bool // it sends replies of resp.KindStream piece by piece
	// Kill ends the connection from another goroutine; nil: it cannot be.
	Kill func()
	// Wake makes the connection look at Ready, from any goroutine; nil: it
	// looks of its own accord.
	Wake func()
	// Arrived returns when the input that the connection runs has reached the
	// system, in units and from a beginning that its connections share, 0 where it
	// is not known; nil: it never is. It is called on the session's goroutine.
	Arrived func() int64
	// Await waits until the connection has run what had arrived before an instant
	// of Arrived. It reports whether it has: it does not wait for long. Another
	// goroutine calls it that holds no lock.
	Await func(before int64) bool
	// Buffers are the connection's while it runs a command, from the goroutine
	// that does; nil: those that Publish was told.
	Buffers func() Buffers
}

// public is what other sessions may know of this one.
type public struct {
	name, libName, libVersion string
	db, proto                 int
	queued, watched           int               // commands in MULTI (-1: none open), keys watched
	topics                    [pubsub.Kinds]int // how many it has subscribed to
	lastCommand               *commands.Command
	createdUs, lastUs         int64
	noEvict, noTouch, blocked bool
	tracking                  *trackingMode // nil: CLIENT TRACKING OFF
	monitoring                bool
	buffers                   Buffers
}

// Buffers are the sizes that CLIENT LIST reports, in bytes.
type Buffers struct {
	Query, QueryFree int
	Output, Memory   int
}

// replyMode is CLIENT REPLY.
type replyMode uint8

const (
	replyOn       replyMode = iota
	replyOff                // nothing is answered
	replySkipNext           // nothing is answered to the next command
	replySkip               // nothing is answered to this command
)

// NewSession opens a session. Close must be called when it ends.
func (e *Engine) NewSession(p Peer) *Session {
	s := &Session{engine: e, peer: p, proto: resp.RESP2}
	s.watch = &store.Watch{Owner: s}
	s.subscriber.Owner, s.subscriber.Wake = s, p.Wake
	s.subscriber.Mail.Init(&e.memory.mail)
	s.tracking.out = invalidations{engine: e, session: s}
	s.ctx.Store = e.store
	s.ctx.Caller = s
	s.authenticated = s.isFree()
	nowUs := e.clock.NowUs()
	s.public = public{proto: resp.RESP2, queued: -1, createdUs: nowUs, lastUs: nowUs}
	e.sessions.add(s)
	s.chance = uint32(s.id)
	e.stats.connections.Add(1)
	return s
}

// Close ends the session.
func (s *Session) Close() {
	s.flush()
	s.abandon()
	s.unwatch()
	s.unsubscribe()
	s.untrack()
	s.unmonitor()
	s.engine.broker.Release(&s.subscriber)
	s.engine.sessions.remove(s)
	s.Holds(0)
	s.subscriber.Mail.Close()
}

// Proto is the protocol in which replies are to be encoded.
func (s *Session) Proto() int { return s.proto }

// Authenticated reports whether the session may do more than say who it is.
// Where no password is asked for any more, it may.
func (s *Session) Authenticated() bool { return s.authenticated || s.isFree() }

// isFree reports whether nobody asks the session for a password.
func (s *Session) isFree() bool { return s.peer.Owner || *s.engine.password.Load() == "" }

// Closing reports whether the connection is to be closed once what was
// answered has been sent.
func (s *Session) Closing() bool { return s.closing }

// ID is the session's number, from 1 on, as CLIENT ID answers it.
func (s *Session) ID() int64 { return s.id }

// Do runs one command and returns its reply, resp.None where nothing is to be
// sent. The reply is valid until the next Do; args are not kept.
func (s *Session) Do(args [][]byte) resp.Value {
	s.ctx.Reset()
	if s.dead.Load() {
		s.closing = true
		return resp.None
	}
	s.collect()
	s.answered = false
	reply := s.dispatch(args)
	if s.postponed {
		s.postponed = false // no command has ended: what CLIENT REPLY and CACHING say of the next still holds
	} else {
		if s.tracking.caching {
			s.endCaching(args)
		}
		reply = s.obeyReplyMode(reply)
	}
	if len(s.before) > 0 {
		return s.withMail(reply)
	}
	return reply
}

// obeyReplyMode leaves out the reply of a command that has ended where CLIENT
// REPLY says so.
func (s *Session) obeyReplyMode(reply resp.Value) resp.Value {
	mode := s.replies
	switch mode {
	case replySkipNext:
		s.replies = replySkip
	case replySkip:
		s.replies = replyOn
	}
	if mode == replyOn || s.answered {
		return reply
	}
	return resp.None
}

// quiet reports whether a reply that is due now is left out.
func (s *Session) quiet() bool { return s.replies == replyOff || s.replies == replySkip }

// dispatch decides whether args run now, are queued, or are refused.
func (s *Session) dispatch(args [][]byte) resp.Value {
	cmd, refusal := s.engine.table.Resolve(args)
	if cmd == nil {
		if isHTTP(args[0]) {
			s.closing, s.aborted = true, true
			return resp.None
		}
		if cmd = s.called(args); cmd == nil {
			return s.refused(s.reject(nil, refusal))
		}
	}
	if s.run.cmd != cmd {
		s.run.flush(s.id, &s.engine.stats)
		s.run.cmd = cmd
	}
	if !refusal.IsError() {
		refusal = s.admit(cmd, args)
	}
	if refusal.IsError() {
		s.run.rejected++
		return s.refused(s.reject(cmd, refusal))
	}
	if s.engine.pause.holds(s, cmd, args) {
		return resp.None
	}
	if s.tx.open && !cmd.Is(commands.Immediate) {
		s.tx.queue(cmd, args)
		return resp.Queued
	}
	reply := s.execute(cmd, args)
	s.run.calls++ // only now, as in Redis: INFO does not count itself
	if s.failed(&reply) {
		s.run.failed++
	}
	return reply
}

// called is the row that args name, whatever their number; nil where there is
// none.
func (s *Session) called(args [][]byte) *commands.Command {
	cmd := s.engine.table.Lookup(args[0])
	if cmd != nil && cmd.Subs != nil && len(args) > 1 {
		return cmd.Sub(args[1])
	}
	return cmd
}

// admit checks what may forbid a known command, in Redis' order.
func (s *Session) admit(cmd *commands.Command, args [][]byte) resp.Value {
	switch {
	case cmd.Is(commands.Protected) && !s.allowed("enable-debug-command"):
		return errDebugOff
	case !cmd.Is(commands.NoAuth) && !s.Authenticated():
		return errNoAuth
	case s.tx.open && cmd.Is(commands.NoMulti):
		return errNotInMulti
	case s.engine.storage.Failing() && s.needsDisk(cmd, args):
		return s.misconf()
	case s.subscribed && s.proto == resp.RESP2 && !cmd.Is(commands.Subscribed):
		return errWhileSubscribed(cmd)
	case !cmd.Is(commands.Loading) && s.engine.storage.Loading():
		return errLoading
	}
	if busy := s.engine.scripts.Busy(); busy != nil && !cmd.Is(commands.AllowBusy) {
		return resp.Error(busy.Reply)
	}
	if s.monitoring && (cmd.Is(commands.ReadOnly) || cmd.Replicates(args)) {
		return errReplicaKeyspace
	}
	return resp.None
}

// Aborted reports whether the connection is to be closed without what was
// answered and has not been sent: it is no client that talks.
func (s *Session) Aborted() bool { return s.aborted }

// isHTTP reports whether a command is the start of an HTTP request: a web page
// that makes a browser talk to a port of its user's machine. Redis hangs up, and
// so do we.
func isHTTP(name []byte) bool {
	return commands.EqualFold(name, "post") || commands.EqualFold(name, "host:")
}

// allowed reports whether a directive such as enable-debug-command lets the
// session's client in.
func (s *Session) allowed(directive string) bool {
	if s.peer.Owner {
		return true
	}
	switch s.engine.cfg.String(directive) {
	case "yes":
		return true
	case "local":
		return s.peer.Local
	}
	return false
}

// reject answers an error and, in a transaction, makes EXEC fail. The command
// is nil where it is unknown.
func (s *Session) reject(cmd *commands.Command, refusal resp.Value) resp.Value {
	if cmd != nil && cmd.Is(commands.RunsQueue) {
		s.discard()
		return resp.Error("EXECABORT Transaction discarded because of: " + withoutCode(refusal.Str()))
	}
	if s.tx.open {
		s.tx.broken = true
	}
	return refusal
}

// Refuse answers an error in the place of a command that does not run, for who
// stands before the session; EXEC then fails as after every refusal.
func (s *Session) Refuse(text string) resp.Value { return s.reject(nil, resp.Error(text)) }

// execute locks the command's shards and runs it.
func (s *Session) execute(cmd *commands.Command, args [][]byte) resp.Value {
	if cmd.Locks != nil {
		return s.executeScript(cmd, args)
	}
	shards := cmd.Shards(args)
	if cmd.Is(commands.Stepwise) {
		shards = 0
	}
	if cmd.Is(commands.Transaction) {
		shards |= s.transactionShards()
	}
	return s.executeIn(shards, cmd, args)
}

// executeScript is execute for what finds out itself which shards it needs.
func (s *Session) executeScript(cmd *commands.Command, args [][]byte) resp.Value {
	c := &s.ctx
	shards := cmd.Locks(c, args)
	c.MayRetry = shards != store.AllShards
	reply := s.executeIn(shards, cmd, args)
	c.MayRetry = false
	if c.Retry {
		c.Retry = false
		reply = s.executeIn(store.AllShards, cmd, args)
	}
	c.Found = nil
	return reply
}

// executeIn runs a command with a set of shards locked.
func (s *Session) executeIn(shards store.ShardSet, cmd *commands.Command, args [][]byte) resp.Value {
	if s.engine.storage.Logging() && (cmd.Is(commands.Write) || cmd.Locks != nil || len(s.tx.queued) > 0) {
		if !s.engine.storage.WaitForSpace(s.canceler) {
			s.canceled = true
			return errCanceled
		}
	}
	s.letEarlierRun(shards, cmd, args)
	shards, busy := s.engine.lock(shards)
	if busy != nil {
		return s.executeWhileBusy(cmd, args, busy)
	}
	defer s.end(shards)
	if s.engine.torn.has(shards) {
		s.closing = true
		return resp.None
	}
	s.ctx.Unheld = ^shards
	if wanted := s.engine.recording.wanted(); wanted != 0 {
		s.record(shards, wanted)
	}
	if s.noTouch {
		s.untouched = shards
		s.engine.store.NoTouch(shards, true)
	}
	s.begin()
	s.locked = shards != 0
	s.ctx.MayWait, s.ctx.Waiting = cmd.Is(commands.Blocking), nil
	s.ctx.MayStream = s.peer.Streams && !cmd.Is(commands.Transaction)
	reply := s.call(cmd, args)
	if s.ctx.Cut != commands.CutNone {
		return s.drop(shards, reply)
	}
	if w := s.ctx.Waiting; w != nil {
		s.block(w)
	}
	s.serve(shards)
	s.notify()
	s.invalidate()
	s.collect()
	return reply
}

// end unlocks what a command, script or EXEC has locked. What it has done is in
// the journal before anybody can see it, or hear of it.
func (s *Session) end(shards store.ShardSet) {
	recorded := s.recording
	if recorded {
		s.notify()
		s.invalidate()
		s.commit(shards)
		s.tracking.out.evict(shards)
		s.tracking.out.tellFirst()
	}
	if s.ctx.Monitor != nil {
		s.showTrace()
	}
	for _, b := range s.served {
		b.end(b.reply)
	}
	s.served = s.served[:0]
	if recorded {
		s.tracking.out.tellBehind()
	}
	s.engine.broker.Release(&s.subscriber)
	if s.untouched != 0 {
		s.engine.store.NoTouch(s.untouched, false)
		s.untouched = 0
	}
	s.engine.store.Unlock(shards)
}

// begin fixes the instant and the settings of a command, script or EXEC.
func (s *Session) begin() {
	c := &s.ctx
	c.NowUs = s.engine.clock.NowUs()
	c.NowMs = c.NowUs / 1000
	c.Settings = s.engine.settings.Load()
	if watched := s.engine.monitors.watched.Load(); watched || c.Monitor != nil {
		s.beginTrace(watched)
	}
}

// call runs a handler. The shards that it touches are held.
func (s *Session) call(cmd *commands.Command, args [][]byte) resp.Value {
	c := &s.ctx
	c.Cmd, c.Args, c.Proto = cmd, args, s.proto
	if s.locked {
		c.Use(c.DBIndex)
	} else {
		c.DB = nil // which database has the number may change at any time
	}
	if s.isTimed(cmd) {
		return s.timed(cmd)
	}
	return c.Run()
}

// Publish shows other sessions the present state of this one: the connection
// calls it after each batch of commands.
func (s *Session) Publish(b Buffers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.public
	p.db, p.proto = s.ctx.DBIndex, s.proto
	p.queued = -1
	if s.tx.open {
		p.queued = len(s.tx.queued)
	}
	p.watched = s.watch.Len()
	if s.run.cmd != nil {
		p.lastCommand = s.run.cmd
	}
	p.lastUs = s.engine.clock.NowUs()
	s.countBuffers(p, b.Memory)
	p.buffers = b
	s.flush()
	if s.blocked.Load() == nil { // or whoever serves it answers there
		s.ctx.Reset() // a client that falls silent keeps no large reply
	}
}

// Count adds the commands that have run to what INFO counts, and shows nothing
// else: less than Publish, for sessions that nobody looks at.
func (s *Session) Count() { s.flush() }

// view returns what others may know of the session.
func (s *Session) view() public {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.public
}

// edit changes what others may know of the session.
func (s *Session) edit(change func(p *public)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.public)
}

// caller is the session that runs a command of this package's groups.
func caller(c *commands.Ctx) *Session { return c.Caller.(*Session) }

func sortByID(sessions []*Session) {
	slices.SortFunc(sessions, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
}
