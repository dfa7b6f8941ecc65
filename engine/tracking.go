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

	mu       sync.Mutex   // held while the counts change; only the lock of prefixes comes after it
	clients  atomic.Int64 // sessions that track
	trackers atomic.Int64 // sessions that track or have tracked
}

// tracking is a session's own part. It belongs to the session's goroutine.
type tracking struct {
	tracker *tracker // nil until the session first tracks
	caching bool     // CLIENT CACHING was the last command, or precedes the transaction
	keys    [][]byte // scratch space for those of one command
	out     invalidations
}

// A tracker stands for a session in the table. It outlives the session without
// keeping the session in memory.
type tracker struct {
	id   int64
	mode atomic.Pointer[trackingMode] // nil: CLIENT TRACKING OFF, or the session has ended
}

func compareTrackers(a, b *tracker) int { return int(a.id - b.id) }

// A trackingMode is the options of one CLIENT TRACKING ON. Only broken changes.
type trackingMode struct {
	session       *Session
	bcast, noLoop bool
	optIn, optOut bool
	redirect      int64       // the id of the session that receives the invalidations; 0: this one
	prefixes      []string    // in order; with bcast there is at least one
	broken        atomic.Bool // an invalidation could not be redirected
}

// flags returns the mode's flags in CLIENT TRACKINGINFO.
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

// redirection returns the reply of CLIENT GETREDIR.
func (m *trackingMode) redirection() int64 {
	if m == nil {
		return -1
	}
	return m.redirect
}

// mode returns the session's mode, nil if it does not track.
func (t *tracking) mode() *trackingMode {
	if t.tracker == nil {
		return nil
	}
	return t.tracker.mode.Load()
}

// track replaces the session's mode; nil is CLIENT TRACKING OFF.
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
		s.ctx.AfterRead = s.recordRead
	}
}

// untrack is for a session that ends. The keys that it has read stay in the table
// until they change or are evicted, or no session is left that has tracked.
func (s *Session) untrack() {
	if s.tracking.tracker != nil {
		s.track(nil)
		s.engine.tracked.trackers.Add(-1)
	}
}

// endCaching ends the effect of CLIENT CACHING after the command args, unless that
// is a subcommand of CLIENT or a transaction is open.
func (s *Session) endCaching(args [][]byte) {
	cmd := s.called(args)
	if !s.tx.open && (cmd == nil || !strings.HasPrefix(cmd.FullName(), "client")) {
		s.tracking.caching = false
	}
}

// recordRead adds the keys of a command that has read them to the table. Their
// shards must be locked. As in Redis, a script that calls any command which reads
// has read all of its own keys, too.
func (s *Session) recordRead(cmd *commands.Command, args [][]byte) {
	t, mode := &s.tracking, s.tracking.mode()
	if mode.optIn && !t.caching || mode.optOut && t.caching || isScript(cmd) {
		return
	}
	s.invalidate() // the changes before this read
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

// evictSlice is how many keys a command evicts at most from a table that exceeds its
// limit, multiplied by the number of commands in a row that found it so.
const evictSlice = 100

// evict evicts keys beyond tracking-table-max-keys from the given shards, which must
// be locked, and invalidates them.
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
		out.addEvicted(key, readers)
	}
	t.overLimit.Store(0)
}

// tickTracked evicts what no command has evicted. If no session is left that has
// tracked, it clears the table, so that an unused table costs nothing.
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
			out.sendAfterReplies()
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

// tracks reports whether a session tracks or the table has keys.
func (e *Engine) tracks() bool { return e.recording.wanted()&effects.Tracked != 0 }

// trackingModes returns the modes of all sessions that track, in the order of their
// ids.
func (e *Engine) trackingModes() []*trackingMode {
	var out []*trackingMode
	for _, o := range e.sessions.all() {
		if mode := o.view().tracking; mode != nil {
			out = append(out, mode)
		}
	}
	return out
}
