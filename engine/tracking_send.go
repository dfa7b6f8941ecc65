package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// invalidations are what clients are to be told of when the command, script,
// EXEC or step of reclaiming under way has ended, and what it has done is in the
// journal.
type invalidations struct {
	engine  *Engine
	session *Session // whose command it is; nil: nobody's

	looked   int            // how many of the group's changes are in here
	first    []invalidation // sent before the replies of the command and of those whom it has served
	behind   []invalidation // sent behind them: to clients that have changed the key themselves
	modified []broadcastChange
}

// An invalidation is what one client is to be told.
type invalidation struct {
	to     *trackingMode
	notice *notice
}

// A notice says that keys are no longer what clients have read.
type notice struct{ direct, redirected *pubsub.Message }

// newNotice is a notice of keys, an array or null for all there are. Under RESP2
// only who subscribes to something can be told, and that on another's behalf.
func newNotice(keys resp.Value) *notice {
	push := resp.Push(resp.Bulk("invalidate"), keys)
	message := resp.Array(resp.Bulk("message"), resp.Bulk("__redis__:invalidate"), keys)
	return &notice{
		direct:     pubsub.NewMessages(resp.None, push),
		redirected: pubsub.NewMessages(message, push),
	}
}

// A changer is whose command it is that changes keys.
type changer struct {
	session *Session // nil: nobody's
	script  bool     // by a script: in BCAST mode that is nobody's change
	walk    bool     // by a command that comes upon keys which it does not name
	filled  string   // a key that giver has filled, before session was served from it
	giver   *Session
}

// look takes over what the group names since it was last looked at. The keys are
// held.
func (out *invalidations) look(g *effects.Group, by changer) {
	t := &out.engine.tracked
	prefixes := t.prefixes.load()
	changes := g.Changes()
	for ; out.looked < len(changes); out.looked++ {
		c := &changes[out.looked]
		switch {
		case c.Kind == effects.Flushed:
			out.flushed(changes, by.session)
			continue
		case !c.Kind.OfKey():
			continue
		}
		key := g.Key(c)
		if readers := t.table.remove(key); len(readers) > 0 {
			out.stale(string(key), readers, by, c.Kind)
		}
		if prefixes != nil && prefixes.matches(key) {
			out.modified = append(out.modified, broadcastChange{string(key), by.of(key, c.Kind)})
		}
	}
}

// stale is about a key that readers have read before it changed. With NOLOOP a
// client is not told of what its own commands do, and, as in Redis, find expired:
// unless that is a walk, whose keys it cannot know.
func (out *invalidations) stale(key string, readers []*tracker, by changer, kind effects.Kind) {
	n := newNotice(resp.Array(resp.Bulk(key)))
	for _, reader := range readers {
		mode := reader.mode.Load()
		if mode == nil || mode.bcast {
			continue
		}
		if knows := mode.noLoop && mode.session == by.session; !knows || by.walk && kind == effects.Expired {
			out.add(mode, n, by.session)
		}
	}
}

// add is for one client that is to be told of what session by has done.
func (out *invalidations) add(to *trackingMode, n *notice, by *Session) {
	switch own := out.session; {
	case to.session == by:
		out.behind = append(out.behind, invalidation{to, n})
	case own != nil && to.redirect == own.id:
		// As in Redis it goes at once to whom the others have redirected theirs,
		// before the reply of its command: within EXEC inside of the array.
		out.engine.broker.Send(&own.subscriber, &own.subscriber, n.redirected)
	default:
		out.first = append(out.first, invalidation{to, n})
	}
}

// of is who, in BCAST mode, has made a change.
func (by changer) of(key []byte, kind effects.Kind) *Session {
	switch {
	case by.script || kind == effects.Expired:
		return nil
	case by.giver != nil && by.filled == string(key):
		return by.giver
	}
	return by.session
}

// flushed is about a database that was flushed: all that every client has read
// is forgotten. It requires AllShards. FLUSHALL flushes one after the other, and
// is told of once.
func (out *invalidations) flushed(changes []effects.Change, by *Session) {
	if i := out.looked; i > 0 {
		last, this := &changes[i-1], &changes[i]
		if last.Kind == effects.Flushed && last.DB == this.DB-1 {
			return
		}
	}
	out.engine.tracked.table.clear(store.AllShards)
	n := newNotice(resp.Null)
	for _, mode := range out.engine.trackingModes() {
		out.add(mode, n, by)
	}
}

// evicted tells the readers of a key that the table drops it. Readers with NOLOOP are
// told as well: later changes of the key would not reach them.
func (out *invalidations) evicted(key string, readers []*tracker) {
	n := newNotice(resp.Array(resp.Bulk(key)))
	for _, reader := range readers {
		if mode := reader.mode.Load(); mode != nil && !mode.bcast {
			out.behind = append(out.behind, invalidation{mode, n})
		}
	}
}

// tellFirst sends what is not to wait for replies.
func (out *invalidations) tellFirst() { out.first = out.tell(out.first) }

// tellBehind sends the rest. Each client in BCAST mode hears of all that has
// changed under one of its prefixes at once.
func (out *invalidations) tellBehind() {
	out.behind = out.tell(out.behind)
	if len(out.modified) == 0 {
		return
	}
	if prefixes := out.engine.tracked.prefixes.load(); prefixes != nil {
		prefixes.match(out.modified, out.broadcast)
	}
	clear(out.modified)
	out.modified = out.modified[:0]
}

// broadcast tells the clients of one prefix of what has changed under it.
func (out *invalidations) broadcast(clients []*trackingMode, changes []broadcastChange) {
	var all *notice
	for _, mode := range clients {
		if mode.noLoop {
			if others := keysOf(changes, mode.session); len(others) > 0 {
				out.send(mode, newNotice(resp.Array(others...)))
			}
			continue
		}
		if all == nil {
			all = newNotice(resp.Array(keysOf(changes, nil)...))
		}
		out.send(mode, all)
	}
}

// keysOf are the keys that changed, but for those that session but has changed.
func keysOf(changes []broadcastChange, but *Session) []resp.Value {
	out := make([]resp.Value, 0, len(changes))
	for _, c := range changes {
		if but == nil || c.by != but {
			out = append(out, resp.Bulk(c.key))
		}
	}
	return out
}

// tell sends a list and returns it empty.
func (out *invalidations) tell(list []invalidation) []invalidation {
	for _, inv := range list {
		out.send(inv.to, inv.notice)
	}
	clear(list)
	return list[:0]
}

// send sends a notice to a client, or to the one to which it redirects; where
// that has gone the client is told so instead.
func (out *invalidations) send(mode *trackingMode, n *notice) {
	if mode.redirect == 0 {
		out.deliver(mode.session, n.direct)
		return
	}
	switch to := out.engine.sessions.find(mode.redirect); {
	case to == nil:
		mode.broken.Store(true)
		push := resp.Push(resp.Bulk("tracking-redir-broken"), resp.Int(mode.redirect))
		out.deliver(mode.session, pubsub.NewMessages(resp.None, push))
	case to.subscriber.Mail.Subscribed():
		out.deliver(to, n.redirected)
	default:
		out.deliver(to, n.direct)
	}
}

// deliver puts a message into a mailbox: behind what the command under way has
// published, if it has. Otherwise it does not wait for the broker's lock, which a
// script may hold for long.
func (out *invalidations) deliver(to *Session, m *pubsub.Message) {
	from, b := out.session, &out.engine.broker
	switch {
	case from != nil && from.subscriber.Holding():
		b.Send(&from.subscriber, &to.subscriber, m)
	case to.subscriber.Mail.Insert(m, b.Limit(&to.subscriber)) && to != from:
		to.subscriber.WakeUp()
	}
}

// invalidate takes over what the command under way, which is the session's, has
// changed so far.
func (s *Session) invalidate() {
	if s.recording && len(s.group.Changes()) > s.tracking.out.looked {
		s.tracking.out.look(&s.group, changer{
			session: s, script: isScript(s.ctx.Cmd), walk: s.ctx.Cmd.Is(commands.AllShards),
		})
	}
}

// invalidateServed is invalidate for what was done for session to, which has
// waited for a key. As in Redis it is the one who has filled the key who is said
// to have changed it, in BCAST mode.
func (s *Session) invalidateServed(to *Session, k store.ReadyKey) {
	if s.recording && len(s.group.Changes()) > s.tracking.out.looked {
		s.tracking.out.look(&s.group, changer{session: to, filled: k.Key, giver: s})
	}
}
