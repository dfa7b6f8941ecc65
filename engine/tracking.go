package engine

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// tracked is the client-side caching of an engine's clients: CLIENT TRACKING.
// See docs/adr/0026.
type tracked struct {
	maxKeys  atomic.Int64 // tracking-table-max-keys; 0: any number
	prefixes trackedPrefixes
	table    trackingTable

	overLimit atomic.Int64 // commands in a row that found the table beyond its limit

	mu       sync.Mutex // held by who changes what follows, which takes no other lock but that of prefixes
	clients  atomic.Int64
	trackers atomic.Int64 // sessions that track or have done so
}

// tracking is a session's own part. All of it belongs to the session's goroutine.
type tracking struct {
	tracker *tracker // nil until the session first tracks
	caching bool     // CLIENT CACHING was the last command, or precedes the transaction
	keys    [][]byte // room for those of one command
	out     invalidations
}

// A tracker is what the table knows a session by. It outlives the session and
// keeps nothing of it alive.
type tracker struct {
	id   int64
	mode atomic.Pointer[trackingMode] // nil: CLIENT TRACKING OFF, or the session has ended
}

func compareTrackers(a, b *tracker) int { return int(a.id - b.id) }

// A trackingMode is what one CLIENT TRACKING ON has asked for. Nothing but broken
// changes in it.
type trackingMode struct {
	session       *Session
	bcast, noLoop bool
	optIn, optOut bool
	redirect      int64       // the id of who is told instead; 0: nobody
	prefixes      []string    // in order; with bcast there is at least one
	broken        atomic.Bool // an invalidation could not be redirected
}

// flags are the mode's flags in CLIENT TRACKINGINFO.
func (m *trackingMode) flags(caching bool) []string {
	if m == nil {
		return []string{"off"}
	}
	out := []string{"on"}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{m.bcast, "bcast"},
		{m.optIn, "optin"},
		{m.optIn && caching, "caching-yes"},
		{m.optOut, "optout"},
		{m.optOut && caching, "caching-no"},
		{m.noLoop, "noloop"},
		{m.broken.Load(), "broken_redirect"},
	} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return out
}

// redirection is what CLIENT GETREDIR answers.
func (m *trackingMode) redirection() int64 {
	if m == nil {
		return -1
	}
	return m.redirect
}

// mode returns how the session tracks, nil where it does not.
func (t *tracking) mode() *trackingMode {
	if t.tracker == nil {
		return nil
	}
	return t.tracker.mode.Load()
}

// track puts next in the place of the session's mode; nil is CLIENT TRACKING OFF.
func (s *Session) track(next *trackingMode) {
	last := s.tracking.mode()
	if last == nil && next == nil {
		return
	}
	t := &s.engine.tracked
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.tracking.tracker == nil {
		s.tracking.tracker = &tracker{id: s.id}
		t.trackers.Add(1)
	}
	if next != nil {
		s.engine.recording.want(effects.Tracked, true)
		s.subscriber.Mail.Open()
	}
	switch {
	case last == nil:
		t.clients.Add(1)
	case next == nil:
		t.clients.Add(-1)
	}
	s.tracking.tracker.mode.Store(next)
	t.prefixes.replace(last, next)
	s.edit(func(p *public) { p.tracking = next })

	s.ctx.AfterRead = nil
	if next == nil {
		s.tracking.caching = false
	} else if !next.bcast {
		s.ctx.AfterRead = s.remember
	}
}

// untrack is for a session that ends. What it has read stays in the table until
// it changes, is evicted, or nobody is left who tracks.
func (s *Session) untrack() {
	if s.tracking.tracker != nil {
		s.track(nil)
		s.engine.tracked.trackers.Add(-1)
	}
}

// endCaching ends what CLIENT CACHING has asked for, after the command that args
// are: unless that is one of CLIENT's, or a transaction is open.
func (s *Session) endCaching(args [][]byte) {
	cmd := s.called(args)
	if !s.tx.open && (cmd == nil || !strings.HasPrefix(cmd.FullName(), "client")) {
		s.tracking.caching = false
	}
}

// remember enters the keys of a command that has read them. As in Redis a script
// has read all of its keys with any command that it calls and that reads; what such
// a command names besides has been read too. All of them are held.
func (s *Session) remember(cmd *commands.Command, args [][]byte) {
	t, mode := &s.tracking, s.tracking.mode()
	if mode.optIn && !t.caching || mode.optOut && t.caching || isScript(cmd) {
		return
	}
	s.invalidate() // what was changed before this read
	t.keys = cmd.AppendKeys(t.keys[:0], args)
	if c := &s.ctx; isScript(c.Cmd) {
		t.keys = c.Cmd.AppendKeys(t.keys, c.Args)
	}
	for _, key := range t.keys {
		s.engine.tracked.table.add(key, t.tracker)
	}
	clear(t.keys)
}

// isScript reports whether a command runs others.
func isScript(cmd *commands.Command) bool { return cmd.Is(commands.SkipMonitor) }

// evictSlice is how many keys a command evicts at most where the table is beyond
// its limit, for each in a row that found it so.
const evictSlice = 100

// evict brings the table back to tracking-table-max-keys, as far as the shards
// that are held go, and tells those who had read what it forgets.
func (out *invalidations) evict(shards store.ShardSet) {
	t := &out.engine.tracked
	limit := t.maxKeys.Load()
	if !out.engine.tracks() || limit == 0 || t.table.keys.Load() <= limit {
		return
	}
	effort := evictSlice * t.overLimit.Add(1)
	for ; t.table.keys.Load() > limit; effort-- {
		if effort == 0 {
			return
		}
		key, readers, ok := t.table.evict(shards, rand.IntN(store.NumShards))
		if !ok {
			break
		}
		out.evicted(key, readers)
	}
	t.overLimit.Store(0)
}

// tickTracked evicts what no command has, and where nobody is left who has
// tracked forgets everything, so that a table without readers costs nothing.
func (e *Engine) tickTracked() {
	t := &e.tracked
	if !e.tracks() {
		return
	}
	for i := range store.NumShards {
		limit := t.maxKeys.Load()
		over := limit > 0 && t.table.keys.Load() > limit
		if alive := t.trackers.Load() > 0; alive && !over || !alive && t.table.keys.Load() == 0 {
			break
		}
		shard := store.ShardSet(1) << ((i + e.evictAt) % store.NumShards)
		if !e.store.TryLock(shard) {
			continue
		}
		out := invalidations{engine: e}
		if t.trackers.Load() == 0 {
			t.table.clear(shard)
		} else {
			out.evict(shard)
			out.tellBehind()
		}
		e.store.Unlock(shard)
	}
	e.evictAt = (e.evictAt + 1) % store.NumShards
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trackers.Load() == 0 && t.table.keys.Load() == 0 {
		e.recording.want(effects.Tracked, false)
	}
}

// tracks reports whether somebody tracks, or what somebody has read is remembered.
func (e *Engine) tracks() bool { return e.recording.wanted()&effects.Tracked != 0 }

// trackingModes are those of all who track, in the order of their ids.
func (e *Engine) trackingModes() []*trackingMode {
	var out []*trackingMode
	for _, o := range e.sessions.all() {
		if mode := o.view().tracking; mode != nil {
			out = append(out, mode)
		}
	}
	return out
}
