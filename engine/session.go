package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Session is one client of an engine. Its methods belong to one goroutine unless
// they say otherwise; other sessions see only what Publish last showed.
type Session struct {
	work    *Work // what its commands need while they run; nil: none does
	engine  *Engine
	peer    Peer
	id      int64
	db      int // the selected database, while it has no work
	wrote   wrote
	who     account
	seen    watching
	inbox   inbox
	answers answers
	ending  ending
	side    replicaSide
	order   arrivals

	tx       transaction
	tracking tracking.Client
	exec     executor
	shown    shown
}

// A Peer is the connection behind a session, as CLIENT LIST and CLIENT KILL
// know it.
type Peer struct {
	Addr, LocalAddr string
	Network         string // whose failed logins count together: the IP address or network of Addr
	Name            string // of CLIENT LIST, until CLIENT SETNAME
	FD              int
	TLS             bool // it is encrypted
	Local           bool // on this machine: "enable-debug-command local" admits it
	Owner           bool // the program that runs the engine: it needs no password and may debug
	Observes        bool // it shows figures, which count neither it nor its calls; without Shares
	Streams         bool // it sends replies of resp.KindStream piece by piece, and reads no others
	Forwards        bool // it calls ForwardBatch
	Shares          bool // it lends the session a Work, which others use in turns; see Work.Serve
	// KeepsArgs says that the arguments of a call do not change until the next call has
	// begun, or EndCall or Publish was called. See EndCall.
	KeepsArgs bool
	// Kill closes the connection. Any goroutine may call it. If it is nil, the
	// session cannot be killed.
	Kill func()
	// Wake makes the connection ask Ready. Any goroutine may call it. If it is nil,
	// the connection asks often enough.
	Wake func()
	// Waits is called when the session is about to wait for anything, on its goroutine, so that
	// others go on without it. It may be nil.
	Waits func()
	// Orderer is the connection; nil: the order of its input is unknown.
	Orderer Orderer
	// Buffers returns the connection's buffers while it runs a command, on its
	// goroutine. If it is nil, those of Publish are shown.
	Buffers func() Buffers
}

// An Orderer is a connection that knows how far others have come with their input.
type Orderer interface {
	// AwaitEarlier blocks until another connection, of the same server, has run what reached it before
	// the command under way, though not for long, and reports whether it has. It is called on the
	// session's goroutine, which holds no lock.
	AwaitEarlier(other Orderer) bool
}

// shown is what other sessions can see of this one.
type shown struct {
	session *Session
	blocked atomic.Pointer[Blocked] // written by the session's goroutine; nil: it is not blocked
	output  atomic.Int64            // bytes of replies that the client has not read, see CountOutput
	mu      sync.Mutex
	public  public // protected by mu
}

// public is the part of shown that Publish brings up to date.
type public struct {
	name, libName, libVersion string
	db, proto                 int
	queued, multiBytes        int               // commands in MULTI (-1: none open), and bytes of their queue
	nameBytes                 int64             // of its watches, subscriptions and tracking prefixes
	topics                    [pubsub.Kinds]int // subscriptions
	lastCommand               *commands.Command
	createdUs, lastUs         int64
	noEvict, noTouch, blocked bool
	tracking                  *tracking.Mode       // nil: CLIENT TRACKING OFF
	replica                   *replication.Replica // nil unless it has sent PSYNC or SYNC
	monitoring                bool
	buffers                   Buffers
}

// Buffers are the sizes that CLIENT LIST reports, in bytes. Memory is of all
// buffers, without the replies of CountOutput.
type Buffers struct {
	Query, QueryFree int
	Memory           int
}

// answers is how the client wants to be answered.
type answers struct {
	session *Session
	mode    replyMode
	bounds  commands.OutputBounds
	silent  atomic.Bool // CLIENT REPLY OFF: MONITOR sends it nothing
	proto   int
	noTouch bool // CLIENT NO-TOUCH: reading does not count as use
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
	s := e.newSession(p)
	e.sessions.add(s)
	s.tracking.Init(&e.recording.tracking, s.id, &s.inbox.subscriber)
	if p.Observes {
		s.work.calls.stats = e.observers.uncounted(e.table.Len())
	} else {
		e.stats.Connections.Add(1)
	}
	return s
}

// newSession returns a session that no other session sees.
func (e *Engine) newSession(p Peer) *Session {
	s := &Session{engine: e, peer: p}
	s.tx.watch = &store.Watch{Owner: s}
	s.connect()
	s.inbox.subscriber.Owner, s.inbox.subscriber.Wake = s, p.Wake
	s.inbox.subscriber.Mail.Init(&e.sessions.mail)
	s.answers.shareOutput()
	if s.exec = (keyspace{s}); e.options.Upstream != nil {
		s.exec = &forwarding{keyspace: keyspace{s}}
	}
	s.who.leave()
	if !p.Shares {
		e.newWork().serve(s)
	}
	nowUs := e.clock.NowUs()
	s.shown.public = public{name: p.Name, proto: resp.RESP2, queued: -1, createdUs: nowUs, lastUs: nowUs}
	return s
}

// connect makes the parts of the session know it.
func (s *Session) connect() {
	s.who.session, s.seen.session, s.inbox.session = s, s, s
	s.answers.session, s.ending.session, s.side.session, s.order.session, s.tx.session = s, s, s, s, s
	s.shown.session = s
	s.answers.proto = resp.RESP2
}

// Close ends the session.
func (s *Session) Close() {
	if s.work == nil {
		s.engine.newWork().serve(s)
	}
	s.work.calls.flush()
	s.stopWaiting()
	s.tx.unwatch()
	s.inbox.unsubscribe()
	s.work.rec.untrack()
	s.seen.unmonitor()
	s.seen.endObserver()
	s.side.end()
	s.engine.broker.Release(&s.inbox.subscriber)
	s.engine.sessions.remove(s)
	s.shown.setBuffers(Buffers{}, 0)
	s.inbox.subscriber.Mail.Close()
	s.ending.left()
}

// Proto returns the protocol to encode replies in.
func (s *Session) Proto() int { return s.answers.proto }

// Authenticated reports whether the session may run commands without the flag
// NoAuth: it has given the password, or none is required any more.
func (s *Session) Authenticated() bool { return s.who.authenticated || !s.who.needsPassword() }

// Closing reports whether the connection is to be closed after the replies so far
// have been sent.
func (s *Session) Closing() bool { return s.ending.closing }

// ID returns the session's number, as CLIENT ID does. The first is 1.
func (s *Session) ID() int64 { return s.id }

// Do runs one command and returns its reply, or resp.None if nothing is to be
// sent. The reply is valid until the next Do; args are not kept.
func (s *Session) Do(args [][]byte) resp.Value { return s.do(args, request{}) }

// do is Do for a call that may have been postponed.
func (s *Session) do(args [][]byte, r request) resp.Value {
	s.work.req = r
	s.work.ctx.Reset()
	if s.ending.dead.Load() {
		s.ending.closing = true
		return resp.None
	}
	s.inbox.collect()
	reply := s.dispatch(args)
	if !s.work.req.postponed && s.tracking.Caching { // else what CLIENT CACHING is for is still to come
		s.endCaching(args)
	}
	return s.exec.finish(reply)
}

// apply drops the reply of a command that has ended if CLIENT REPLY says
// so.
func (y *answers) apply(reply resp.Value) resp.Value {
	mode := y.mode
	switch mode {
	case replySkipNext:
		y.mode = replySkip
	case replySkip:
		y.mode = replyOn
	}
	if mode == replyOn || y.session.work.req.answered {
		return reply
	}
	return resp.None
}

// quiet reports whether CLIENT REPLY drops a reply that is due now.
func (y *answers) quiet() bool { return y.mode == replyOff || y.mode == replySkip }

// dispatch decides whether args run now, are queued, or are refused.
func (s *Session) dispatch(args [][]byte) resp.Value {
	cmd, refusal := s.engine.table.Resolve(args)
	if cmd == nil {
		if isHTTP(args[0]) {
			s.ending.closing, s.ending.aborted = true, true
			return resp.None
		}
		if cmd = s.called(args); cmd == nil {
			return s.work.calls.refused(s.tx.reject(nil, refusal))
		}
	}
	s.work.calls.begins(cmd)
	if cmd.Is(commands.ByPolicy) && !refusal.IsError() && !s.work.req.rewritten {
		args = s.work.byPolicy(args)
	}
	if !refusal.IsError() {
		refusal = s.admit(cmd, args)
	}
	if refusal.IsError() {
		s.work.calls.run.Rejected++
		return s.work.calls.refused(s.tx.reject(cmd, refusal))
	}
	if s.engine.pause.postpones(s, cmd, args) || s.who.postpones(cmd, args) {
		return resp.None
	}
	if s.tx.open && !cmd.Is(commands.Immediate) {
		if refusal := s.exec.refuseQueued(cmd, args); refusal.IsError() {
			s.work.calls.run.Rejected++
			return s.work.calls.refused(s.tx.reject(cmd, refusal))
		}
		s.EndCall()
		if !s.tx.broken && !s.tx.watch.Dirty() { // else EXEC runs nothing
			s.tx.add(cmd, args)
		}
		return resp.Queued
	}
	reply := s.exec.run(cmd, args)
	s.work.calls.run.Calls++ // only now, as in Redis: INFO does not count itself
	if s.work.calls.failed(&reply) {
		s.work.calls.run.Failed++
	}
	return reply
}

// called returns the row that args name, whatever their number, or nil.
func (s *Session) called(args [][]byte) *commands.Command {
	cmd := s.engine.table.Lookup(args[0])
	if cmd != nil && cmd.Subs != nil && len(args) > 1 {
		return cmd.Sub(args[1])
	}
	return cmd
}

// Aborted reports whether the connection is to be closed without sending the
// replies so far: its peer speaks HTTP.
func (s *Session) Aborted() bool { return s.ending.aborted }

// isHTTP reports whether a command is the start of an HTTP request, by which a web
// page makes a browser talk to a port of its user's machine. Redis hangs up, too.
func isHTTP(name []byte) bool {
	return commands.EqualFold(name, "post") || commands.EqualFold(name, "host:")
}

// Refuse returns an error reply for a command that the caller does not pass to Do.
// EXEC then fails as after every error.
func (s *Session) Refuse(text string) resp.Value { return s.tx.reject(nil, resp.Error(text)) }

// caller returns the session that runs a command of this package's groups.
func caller(c *commands.Ctx) *Session { return c.Env.Caller.(*Session) }

func sortByID(sessions []*Session) {
	slices.SortFunc(sessions, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
}
