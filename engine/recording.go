package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// recording says which effects of commands are recorded. If none are, a command pays
// one load of flags. See docs/adr/0025-what-changed.md.
type recording struct {
	flags   atomic.Uint32 // effects.Flags; 0: nothing is recorded
	journal atomic.Pointer[journal]

	mu     sync.Mutex
	events effects.Flags // protected by mu: of notify-keyspace-events
	heard  bool          // protected by mu: there are subscriptions to channels or patterns
}

// wanted returns what is to be recorded.
func (r *recording) wanted() effects.Flags { return effects.Flags(r.flags.Load()) }

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

// hear sets whether there are subscriptions to channels or patterns. Without any, no
// event is recorded.
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

// A journal receives the effects of commands on the keyspace. Append is called once
// for each command, script, EXEC and step of reclaiming, with its own effects and
// those of serving blocked sessions, while their shards are locked: so the order of
// calls is that of the effects. Append neither keeps g nor blocks. It returns the
// position behind g, 0 for none. See docs/adr/0017-effects.md.
type journal interface {
	Append(g *effects.Group, nowMs int64) (end int64)
}

// setJournal starts appending effects to j; nil stops it. Every shard must be locked.
func (e *Engine) setJournal(j journal) {
	if j == nil {
		e.recording.want(effects.Logged, false)
		e.recording.journal.Store(nil)
		return
	}
	e.recording.journal.Store(&j)
	e.recording.want(effects.Logged, true)
}

// record starts recording what the session does to shards that it holds.
func (s *Session) record(shards store.ShardSet, wanted effects.Flags) {
	s.recording, s.notified = true, 0
	s.group.Want(wanted)
	s.ctx.Group = &s.group
	s.engine.store.Record(shards, &s.group)
}

// rerecord adapts to what has become wanted since the last command of an EXEC.
func (s *Session) rerecord() {
	switch wanted := s.engine.recording.wanted(); {
	case !s.recording && wanted != 0:
		s.record(^s.ctx.Unheld, wanted)
	case s.recording && wanted != s.group.Wanted():
		s.notify()
		s.invalidate()
		s.group.Want(wanted)
	}
}

// commit appends what was recorded to the journal.
func (s *Session) commit(shards store.ShardSet) {
	s.engine.store.Record(shards, nil)
	s.ctx.Group, s.recording = nil, false
	s.tracking.Out.Commit()
	if end := s.engine.append(&s.group, s.ctx.NowMs); end > 0 {
		s.written = s.engine.storage.Position(end)
	}
}

// append appends a group to the journal and empties it. It returns the position
// behind it, 0 if there was nothing to append.
func (e *Engine) append(g *effects.Group, nowMs int64) (end int64) {
	if g.Len() > 0 {
		if j := e.recording.journal.Load(); j != nil {
			end = (*j).Append(g, nowMs)
		}
	}
	g.Reset()
	return end
}
