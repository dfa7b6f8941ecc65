package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/tracking"
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
