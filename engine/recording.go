package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// recording says which effects of commands are recorded. If none are, a command pays
// one load of flags. See docs/adr/0025-what-changed.md.
type recording struct {
	flags   atomic.Uint32 // effects.Flags; 0: nothing is recorded
	journal atomic.Pointer[journal]
	stream  atomic.Pointer[replication.Stream] // for replicas; nil: nothing is recorded in it
	// tracking turns effects into messages of CLIENT TRACKING.
	tracking tracking.State

	mu     sync.Mutex
	events effects.Flags // protected by mu: of notify-keyspace-events
	heard  bool          // protected by mu: there are subscriptions to channels or patterns
}

// wanted returns what is to be recorded.
func (r *recording) wanted() effects.Flags { return effects.Flags(r.flags.Load()) }

// tracks reports whether a session tracks or the table has keys.
func (r *recording) tracks() bool { return r.wanted()&effects.Tracked != 0 }

// want starts or stops recording what flags say. Commands that run are not affected.
// If every shard is locked none runs.
func (r *recording) want(flags effects.Flags, on bool) {
	if on {
		r.flags.Or(uint32(flags))
	} else {
		r.flags.And(^uint32(flags))
	}
}

// notify sets the events that are to be published.
func (r *recording) notify(events effects.Flags) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = events
	r.refreshEvents()
}

// hear sets whether there are subscriptions to channels or patterns. Without any, no event is recorded.
func (r *recording) hear(heard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = heard
	r.refreshEvents()
}

// refreshEvents sets the event bits of flags. It requires mu.
func (r *recording) refreshEvents() {
	events := r.events
	if !r.heard {
		events = 0
	}
	for {
		old := r.flags.Load()
		if r.flags.CompareAndSwap(old, old&^uint32(effects.Events)|uint32(events)) {
			return
		}
	}
}

// A journal receives the effects of commands on the keyspace. Append is called once for each command, script,
// EXEC and step of reclaiming, with its own effects and those of serving blocked sessions, while their shards
// are locked: so the order of calls is that of the effects. Append neither keeps g nor blocks. It returns the
// position behind g, 0 for none. See docs/adr/0017-effects.md.
type journal interface {
	Append(g *effects.Group, nowMs int64) (end int64)
}

// setJournal starts appending effects to j; nil stops it. Every shard must be locked.
func (r *recording) setJournal(j journal) {
	if j == nil {
		r.journal.Store(nil)
	} else {
		r.journal.Store(&j)
	}
	r.refreshLogged()
}

// setStream starts appending effects to s; nil stops it. Every shard must be locked.
func (r *recording) setStream(s *replication.Stream) {
	r.stream.Store(s)
	r.refreshLogged()
}

// refreshLogged sets whether commands are recorded.
func (r *recording) refreshLogged() {
	r.want(effects.Logged, r.journal.Load() != nil || r.stream.Load() != nil)
}

// append appends a group to the journal and to the stream, and empties it. It returns the
// positions behind it, 0 where nothing was appended.
func (r *recording) append(g *effects.Group, nowMs int64) (logged, streamed int64) {
	if g.Len() > 0 {
		if j := r.journal.Load(); j != nil {
			logged = (*j).Append(g, nowMs)
		}
	}
	if g.Len()+g.Messages() > 0 {
		if s := r.stream.Load(); s != nil {
			streamed = s.Append(g)
		}
	}
	g.Reset()
	return logged, streamed
}

// begin starts recording what the session does to shards that it holds.
func (r *recorder) begin(shards store.ShardSet, wanted effects.Flags) {
	s := r.session
	r.on, r.notified = true, 0
	r.group.Want(wanted)
	s.work.ctx.Env.Record(&r.group)
	s.engine.store.Record(shards, &r.group)
}

// adapt adapts to what has become wanted since the last command of an EXEC.
func (r *recorder) adapt() {
	s := r.session
	switch wanted := s.engine.recording.wanted(); {
	case !r.on && wanted != 0:
		r.begin(^s.work.ctx.Unheld, wanted)
	case r.on && wanted != r.group.Wanted():
		r.notify()
		r.invalidate()
		r.group.Want(wanted)
	}
}

// commit appends what was recorded to the journal.
func (r *recorder) commit(shards store.ShardSet) {
	s := r.session
	s.engine.store.Record(shards, nil)
	s.work.ctx.Env.Record(nil)
	r.on = false
	r.append()
}

// commitSoFar commits what the command under way has done, since what follows belongs to another role.
func (r *recorder) commitSoFar() {
	if r.on {
		r.notify()
		r.invalidate()
		r.append()
		r.notified = 0
	}
}

func (r *recorder) append() {
	s := r.session
	s.work.invalid.Commit()
	logged, streamed := s.engine.recording.append(&r.group, s.work.ctx.NowMs)
	if logged > 0 {
		s.wrote.log = s.engine.storage.Position(logged)
	}
	if streamed > 0 {
		s.wrote.stream = streamed
	}
}

// notify publishes the events of what the command under way has changed so far.
func (r *recorder) notify() {
	if r.on && pubsub.HasEvents(&r.group, r.notified) {
		r.session.AcquireBroker()
	}
}

// recordStep starts recording changes that belong to no command, in shards that are locked. It reports
// whether anything is recorded; commitStep must follow then.
func (e *Engine) recordStep(g *effects.Group, shards store.ShardSet) bool {
	wanted := e.recording.wanted()
	if wanted == 0 {
		return false
	}
	g.Want(wanted)
	e.store.Record(shards, g)
	return true
}

// commitStep publishes what was recorded since recordStep: in the journal, to replicas and to clients.
func (e *Engine) commitStep(g *effects.Group, shards store.ShardSet, nowMs int64) {
	e.store.Record(shards, nil)
	e.broker.DeferEvents(g)
	out := e.recording.tracking.Invalidations()
	out.Add(g, tracking.Author{})
	e.recording.append(g, nowMs)
	out.SendBeforeReply()
	out.SendAfterReplies()
}

// track replaces the session's mode; nil is CLIENT TRACKING OFF.
func (r *recorder) track(next *tracking.Mode) {
	s := r.session
	if !s.tracking.Set(next) {
		return
	}
	s.shown.edit(func(p *public) { p.tracking = next })
	s.shown.countNames()
	s.work.ctx.Env.AfterReads(nil)
	if s.tracking.ReadsKeys() {
		s.work.ctx.Env.AfterReads(s.work.read)
	}
}

// untrack is for a session that ends.
func (r *recorder) untrack() {
	s := r.session
	if s.tracking.Tracked() {
		r.track(nil)
		s.tracking.Close()
	}
}

// read adds the keys of a command that has read them to the table. Their shards must be locked. As in Redis,
// a script that calls any command which reads has read all of its own keys, too.
func (r *recorder) read(cmd *commands.Command, args [][]byte) {
	s := r.session
	if !s.tracking.Records() || isScript(cmd) {
		return
	}
	r.invalidate() // the changes before this read
	s.tracking.Read(cmd, args)
	if c := &s.work.ctx; isScript(c.Cmd) {
		s.tracking.Read(c.Cmd, c.Args)
	}
}

// isScript reports whether a command runs others.
func isScript(cmd *commands.Command) bool { return cmd.Is(commands.SkipMonitor) }

// invalidate adds what the session's command has changed so far to its invalidations.
func (r *recorder) invalidate() {
	s := r.session
	if r.on && s.work.invalid.Missed(&r.group) {
		s.work.invalid.Add(&r.group, tracking.Author{
			Client: &s.inbox.subscriber, Script: isScript(r.work.ctx.Cmd),
			Scan: r.work.ctx.Cmd.Is(commands.AllShards),
		})
	}
}

// invalidateServed is invalidate for changes on behalf of session to, which was blocked on a key. As in
// Redis, the author in BCAST mode is the session that has pushed to the key.
func (r *recorder) invalidateServed(to *Session, k store.ReadyKey) {
	s := r.session
	if r.on && s.work.invalid.Missed(&r.group) {
		s.work.invalid.Add(&r.group, tracking.Author{
			Client: &to.inbox.subscriber, Filled: k.Key, Giver: &s.inbox.subscriber,
		})
	}
}
