package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// recording says what commands record of what they do. Where nothing is recorded, a
// command pays one load of flags. See docs/adr/0025-what-changed.md.
type recording struct {
	flags   atomic.Uint32 // effects.Flags: all that somebody wants; 0: nothing is recorded
	journal atomic.Pointer[journal]

	mu     sync.Mutex
	events effects.Flags // protected by mu: what notifications are configured to tell of
	heard  bool          // protected by mu: somebody listens to a channel or a pattern
}

// wanted returns what is to be recorded.
func (r *recording) wanted() effects.Flags { return effects.Flags(r.flags.Load()) }

// want begins or ends to record what flags say. Commands under way go on as they
// began, unless AllShards is held: then no command is half recorded.
func (r *recording) want(flags effects.Flags, on bool) {
	if on {
		r.flags.Or(uint32(flags))
	} else {
		r.flags.And(^uint32(flags))
	}
}

// notify sets what notifications tell of.
func (r *recording) notify(events effects.Flags) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = events
	r.refreshEvents()
}

// hear sets whether somebody listens to any channel. Where nobody does, no event
// is recorded.
func (r *recording) hear(heard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = heard
	r.refreshEvents()
}

// refreshEvents makes flags say what events are wanted. It requires mu.
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

// A journal takes what commands do to the keyspace. Append is called once for
// each command, script, EXEC, step of reclaiming, with all that it has done and
// all that those got who waited for it, while the shards that it is about are
// held: what Append sees first happened first. It keeps nothing of g and does
// not wait. See docs/adr/0017-effects.md.
type journal interface {
	Append(g *effects.Group, nowMs int64) (end int64)
}

// setJournal begins to log what is done, or ends it with nil. It requires
// AllShards.
func (e *Engine) setJournal(j journal) {
	if j == nil {
		e.recording.want(effects.Logged, false)
		e.recording.journal.Store(nil)
		return
	}
	e.recording.journal.Store(&j)
	e.recording.want(effects.Logged, true)
}

// record begins to record what the session does to shards that it holds.
func (s *Session) record(shards store.ShardSet, wanted effects.Flags) {
	s.recording, s.notified = true, 0
	s.group.Want(wanted)
	s.ctx.Group = &s.group
	s.engine.store.Record(shards, &s.group)
}

// rerecord obeys what has come to be wanted since the last command of an EXEC.
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

// commit hands over what was recorded.
func (s *Session) commit(shards store.ShardSet) {
	s.engine.store.Record(shards, nil)
	s.ctx.Group, s.recording, s.tracking.out.looked = nil, false, 0
	if end := s.engine.append(&s.group, s.ctx.NowMs); end > 0 {
		s.written = s.engine.storage.Position(end)
	}
}

// append empties a group into the journal, and returns the position after it, 0
// where there was nothing.
func (e *Engine) append(g *effects.Group, nowMs int64) (end int64) {
	if g.Len() > 0 {
		if j := e.recording.journal.Load(); j != nil {
			end = (*j).Append(g, nowMs)
		}
	}
	g.Reset()
	return end
}
