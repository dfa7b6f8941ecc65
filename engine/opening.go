package engine

import (
	"errors"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
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

// NewWork returns a Work for sessions that share it. Its Count must be called before the replies of their
// calls are sent.
func (e *Engine) NewWork() *Work {
	w := e.newWork()
	w.shared = true
	return w
}

// newWork returns a Work for a single session.
func (e *Engine) newWork() *Work {
	w := &Work{engine: e}
	w.calls.work, w.rec.work = w, w
	w.calls.stats = &e.stats
	id := e.sessions.works.Add(1)
	w.calls.id, w.calls.random = id, uint32(id)
	w.calls.limits.Sampler = rl.NewTopSampler(&e.stats.Top, id)
	w.ctx.Store, w.ctx.Env = e.store, &w.env
	w.env.Limits = &w.calls.limits
	w.steps = store.Yielder{Every: keysPerStep, Yield: func() { w.calls.session.yield() }}
	w.read = w.rec.read
	w.invalid = e.recording.tracking.Invalidations()
	return w
}

// Serve makes a session run its commands with w, until Release. It reports false if the session has a Work:
// its own, or one that Release has left to it.
func (w *Work) Serve(s *Session) bool {
	if s.work != nil {
		return false
	}
	w.serve(s)
	return true
}

// serve makes w the session's.
func (w *Work) serve(s *Session) {
	s.work = w
	w.rec.session, w.calls.session = s, s
	w.calls.ran = nil
	c, env := &w.ctx, &w.env
	c.DBIndex = s.db
	c.Out = commands.Output{Encodes: s.peer.Streams, OutputBounds: s.answers.bounds}
	w.invalid.MadeBy(&s.tracking)
	env.Caller = s
	env.Guard = s.who.guardOf()
	env.Unwatch()
	if s.tracking.ReadsKeys() {
		env.AfterReads(w.read)
	}
}

// Release returns the session's Work for others. It is nil if the session has none, or needs it: while it is
// blocked, who serves it runs the rest of its command.
func (s *Session) Release() *Work {
	w := s.work
	if w == nil {
		return nil
	}
	if s.shown.blocked.Load() != nil {
		w.calls.flush()
		return nil
	}
	s.db, s.work = w.ctx.DBIndex, nil
	return w
}

// Errors of LoginSession and AuthorizeScrape.
var (
	ErrLogin      = errors.New("wrong user or password")
	ErrManyLogins = errors.New("too many logins from this address have failed")

	// ErrScrapeRights is AuthorizeScrape's error for a user who may not call INFO.
	ErrScrapeRights = errors.New("the user has no permission to run the 'info' command")
)

// LoginSession opens a session for a client that gives a user's name and password outside of the Redis
// protocol. An empty name is the default user's; without a name and a password, that user must need none.
// Failures are slowed, counted and logged as those of AUTH; a login that would have to wait is refused.
func (e *Engine) LoginSession(p Peer, name, password string) (*Session, error) {
	s := e.NewSession(p)
	if err := s.who.loginFrom(name, password); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// loginFrom is LoginSession for a session that is open.
func (a *account) loginFrom(name, password string) error {
	if name != "" || password != "" {
		if name == "" {
			name = acl.DefaultName
		}
		a.session.work.ctx.Args = [][]byte{[]byte("AUTH")}
		switch reply := a.login(name, password); {
		case reply.Str() == errManyLogins.Str():
			return ErrManyLogins
		case reply.IsError():
			return ErrLogin
		}
	}
	if !a.session.Authenticated() {
		return ErrLogin
	}
	return nil
}

// SessionOf opens a session of a user whom the caller vouches for, who needs no password. It returns ErrLogin
// if the user does not exist or is off.
func (e *Engine) SessionOf(p Peer, name string) (*Session, error) {
	u := e.accounts.Find(name)
	if u == nil || !u.Rules().On() {
		return nil, ErrLogin
	}
	s := e.NewSession(p)
	s.who.enter(u)
	return s, nil
}

// AuthorizeScrape returns nil if whoever gives a user's name and password may read the metrics, which is
// whoever may call INFO. An empty name is the default user's; without a name and a password, that user must
// need none. Failures are slowed, counted and logged as those of AUTH and INFO.
func (e *Engine) AuthorizeScrape(p Peer, name, password string) error {
	s, err := e.LoginSession(p, name, password)
	if err != nil {
		return err
	}
	defer s.Close()
	info := e.table.Own([]byte("info"))
	if s.who.deny(info, [][]byte{[]byte("INFO")}).IsError() {
		return ErrScrapeRights
	}
	return nil
}
