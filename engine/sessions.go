package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/resp"
)

// A registry has the sessions that exist, by id, and what they take in memory.
type registry struct {
	mu     sync.Mutex
	byID   map[int64]*Session // protected by mu, as the next one
	lastID int64
	// observing is how many of them have Peer.Observes; protected by mu.
	observing int
	works     atomic.Int64 // made so far

	buffers atomic.Int64 // bytes of connections and transactions as published, unread replies, and names
	mail    atomic.Int64 // bytes of mailboxes

	limit    atomic.Int64 // maxmemory-clients in bytes; 0: none
	leaving  atomic.Int64 // bytes of sessions that were evicted and have not closed yet
	evicting sync.Mutex   // its holder evicts; it is acquired before every other lock
}

func (r *registry) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

// bytes returns what the sessions take. See docs/adr/0028.
func (r *registry) bytes() int64 {
	return int64(r.len())*sessionBytes + r.buffers.Load() + r.mail.Load()
}

func (r *registry) add(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID++
	s.id = r.lastID
	r.byID[s.id] = s
	if s.peer.Observes {
		r.observing++
	}
}

// clients returns how many sessions are counted as clients.
func (r *registry) clients() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID) - r.observing
}

// remove removes a session and reports whether it was there.
func (r *registry) remove(s *Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.byID[s.id]
	delete(r.byID, s.id)
	if ok && s.peer.Observes {
		r.observing--
	}
	return ok
}

// find returns the session with an id, or nil.
func (r *registry) find(id int64) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// all returns the sessions in the order of their ids.
func (r *registry) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.byID))
	for _, s := range r.byID {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	return out
}

// minClientLimit is the smallest limit that is enforced, as in Redis: with a
// smaller one nobody could connect to correct it.
const minClientLimit = 128 << 10

// clientLimit returns the bytes that the directive maxmemory-clients allows, 0 for
// no limit. A negative value is a percentage of maxmemory.
func clientLimit(directive, maxmemory int64) int64 {
	if directive == 0 || directive < 0 && maxmemory == 0 {
		return 0
	}
	if directive < 0 {
		directive = int64(float64(maxmemory) * float64(-directive) / 100)
	}
	return max(directive, minClientLimit)
}

// EnforceClientMemory evicts clients, perhaps this one, if all together exceed
// maxmemory-clients. No lock may be held.
func (s *Session) EnforceClientMemory() { s.engine.sessions.evict() }

// evict enforces maxmemory-clients: while all sessions together take that many bytes, it closes the largest.
// Those with CLIENT NO-EVICT, replicas and the master count, but stay. See docs/adr/0034.
func (r *registry) evict() {
	limit := r.limit.Load()
	if limit == 0 || r.bytes()-r.leaving.Load() < limit {
		return
	}
	r.evicting.Lock()
	defer r.evicting.Unlock()
	type client struct {
		session *Session
		bytes   int64
	}
	var evictable []client
	total := int64(0)
	for _, s := range r.all() {
		p := s.shown.view()
		n := s.shown.bytes(&p)
		total += n
		if !p.noEvict && p.replica == nil && !isMaster(s) && s.peer.Kill != nil {
			evictable = append(evictable, client{s, n})
		}
	}
	slices.SortStableFunc(evictable, func(a, b client) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, c := range evictable {
		if total < limit {
			return
		}
		if c.session.ending.evict(c.bytes) {
			total -= c.bytes
		}
	}
}

var sessionBytes = int64(unsafe.Sizeof(Session{}))

// Sessions returns how many sessions there are.
func (e *Engine) Sessions() int { return e.sessions.len() }

// kill closes the sessions that match: its own after the reply is sent, the others
// at once, however long their connections take to end.
func (x *ending) kill(match func(o *Session) bool) int {
	s := x.session
	killed, patient := 0, !s.inbox.subscriber.InExec // in EXEC shards are locked
	for _, o := range s.engine.sessions.all() {
		if !match(o) {
			continue
		}
		patient = patient && s.order.letRun(o)
		switch {
		case o == s:
			x.closing = true
		case o.peer.Kill == nil || !s.engine.sessions.remove(o):
			continue // it cannot be killed, or has been
		default:
			o.ending.die()
		}
		killed++
	}
	return killed
}

// die ends a session that was just removed from the registry, from another session's goroutine. It receives
// no more messages and no elements that are pushed from now on, and runs no more commands.
func (x *ending) die() {
	s := x.session
	x.dead.Store(true)
	s.peer.Kill()
	s.engine.observers.remove(s)
	if p := s.shown.view(); p.subscribed() {
		s.engine.broker.Killed(&s.inbox.subscriber)
	}
	if b := s.shown.blocked.Load(); b != nil {
		b.unblock(resp.None)
	}
}

// evict closes a session, whose bytes no longer count. It reports whether the session was still there.
func (x *ending) evict(bytes int64) bool {
	s := x.session
	all := &s.engine.sessions
	line := s.shown.line(s.engine.clock.NowUs())
	x.leaving.Store(bytes) // before Close can miss it
	all.leaving.Add(bytes)
	if !all.remove(s) {
		x.left()
		return false
	}
	s.engine.stats.Refusals.Evicted.Add(1)
	s.engine.options.Log.Info("Evicting client: " + line)
	x.die()
	return true
}

// left records that an evicted session has closed, or was closing already.
func (x *ending) left() { x.session.engine.sessions.leaving.Add(-x.leaving.Swap(0)) }
