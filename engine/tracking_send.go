package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// invalidations are the messages to send when the command, script, EXEC or step of
// reclaiming under way has ended and its changes are in the journal.
type invalidations struct {
	engine  *Engine
	session *Session // that runs the command; nil: none

	seen         int            // how many of the group's changes are in here
	beforeReply  []invalidation // sent before the replies of the command and of the sessions it has served
	afterReplies []invalidation // sent after them: to clients that have changed the key themselves
	modified     []broadcastChange
}

// An invalidation is a notice to one client.
type invalidation struct {
	to     *trackingMode
	notice *notice
}

// A notice says that keys have changed since a client read them.
type notice struct{ direct, redirected *pubsub.Message }

// newNotice returns a notice of keys, an array or null for all keys. Under RESP2 only
// a client with subscriptions can receive it, redirected from another client.
func newNotice(keys resp.Value) *notice {
	push := resp.Push(resp.Bulk("invalidate"), keys)
	message := resp.Array(resp.Bulk("message"), resp.Bulk("__redis__:invalidate"), keys)
	return &notice{
		direct:     pubsub.NewMessages(resp.None, push),
		redirected: pubsub.NewMessages(message, push),
	}
}

// A changer is the author of changes.
type changer struct {
	session *Session // nil: none
	script  bool     // it was a script: in BCAST mode the change has no author
	scan    bool     // it was a command that visits keys which it does not name
	filled  string   // a key that giver has pushed to before session was served from it
	giver   *Session
}

// add adds the group's changes since the last call. Their keys must be locked.
func (out *invalidations) add(g *effects.Group, by changer) {
	t := &out.engine.tracked
	prefixes := t.prefixes.load()
	changes := g.Changes()
	for ; out.seen < len(changes); out.seen++ {
		c := &changes[out.seen]
		switch {
		case c.Kind == effects.Flushed:
			out.addFlush(changes, by.session)
			continue
		case !c.Kind.OfKey():
			continue
		}
		key := g.Key(c)
		if readers := t.table.remove(key); len(readers) > 0 {
			out.addKey(string(key), readers, by, c.Kind)
		}
		if prefixes != nil && prefixes.matches(key) {
			out.modified = append(out.modified, broadcastChange{string(key), by.author(key, c.Kind)})
		}
	}
}

// addKey adds invalidations of a key to its readers. Under NOLOOP a client receives
// none for its own changes, nor, as in Redis, for keys that its own commands find
// expired, unless those scan: it cannot know their keys.
func (out *invalidations) addKey(key string, readers []*tracker, by changer, kind effects.Kind) {
	n := newNotice(resp.Array(resp.Bulk(key)))
	for _, reader := range readers {
		mode := reader.mode.Load()
		if mode == nil || mode.bcast {
			continue
		}
		if knows := mode.noLoop && mode.session == by.session; !knows || by.scan && kind == effects.Expired ||
			kind == effects.Evicted {
			out.addFor(mode, n, by.session)
		}
	}
}

// addFor adds an invalidation to one client for a change of session by.
func (out *invalidations) addFor(to *trackingMode, n *notice, by *Session) {
	switch own := out.session; {
	case to.session == by:
		out.afterReplies = append(out.afterReplies, invalidation{to, n})
	case own != nil && to.redirect == own.id:
		// As in Redis, a client to which others redirect receives it before the reply
		// of its command, within EXEC inside the array.
		out.engine.broker.Send(&own.subscriber, &own.subscriber, n.redirected)
	default:
		out.beforeReply = append(out.beforeReply, invalidation{to, n})
	}
}

// author returns the session that has made a change, as BCAST mode sees it.
func (by changer) author(key []byte, kind effects.Kind) *Session {
	switch {
	case by.script || kind == effects.Expired || kind == effects.Evicted:
		return nil
	case by.giver != nil && by.filled == string(key):
		return by.giver
	}
	return by.session
}

// addFlush adds one invalidation of all keys to every client, for a database that
// was flushed. Every shard must be locked. FLUSHALL, which flushes one database
// after the other, makes one.
func (out *invalidations) addFlush(changes []effects.Change, by *Session) {
	if i := out.seen; i > 0 {
		last, this := &changes[i-1], &changes[i]
		if last.Kind == effects.Flushed && last.DB == this.DB-1 {
			return
		}
	}
	out.engine.tracked.table.clear(store.AllShards)
	n := newNotice(resp.Null)
	for _, mode := range out.engine.trackingModes() {
		out.addFor(mode, n, by)
	}
}

// addEvicted adds invalidations of a key that the table has evicted to its readers.
// Readers with NOLOOP receive them, too: later changes of the key would not reach
// them.
func (out *invalidations) addEvicted(key string, readers []*tracker) {
	n := newNotice(resp.Array(resp.Bulk(key)))
	for _, reader := range readers {
		if mode := reader.mode.Load(); mode != nil && !mode.bcast {
			out.afterReplies = append(out.afterReplies, invalidation{mode, n})
		}
	}
}

// sendBeforeReply sends the invalidations that precede replies.
func (out *invalidations) sendBeforeReply() { out.beforeReply = out.sendAll(out.beforeReply) }

// sendAfterReplies sends the rest. A client in BCAST mode receives one message for
// all changes under one of its prefixes.
func (out *invalidations) sendAfterReplies() {
	out.afterReplies = out.sendAll(out.afterReplies)
	if len(out.modified) == 0 {
		return
	}
	if prefixes := out.engine.tracked.prefixes.load(); prefixes != nil {
		prefixes.match(out.modified, out.broadcast)
	}
	clear(out.modified)
	out.modified = out.modified[:0]
}

// broadcast sends the clients of one prefix what has changed under it.
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

// keysOf returns the keys that changed, without those that session but has changed.
func keysOf(changes []broadcastChange, but *Session) []resp.Value {
	out := make([]resp.Value, 0, len(changes))
	for _, c := range changes {
		if but == nil || c.by != but {
			out = append(out, resp.Bulk(c.key))
		}
	}
	return out
}

// sendAll sends a list and returns it empty.
func (out *invalidations) sendAll(list []invalidation) []invalidation {
	for _, inv := range list {
		out.send(inv.to, inv.notice)
	}
	clear(list)
	return list[:0]
}

// send sends a notice to a client, or to the one to which it redirects. If that has
// gone, the client receives a message which says so.
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

// invalidate adds what the session's command has changed so far to its
// invalidations.
func (s *Session) invalidate() {
	if s.recording && len(s.group.Changes()) > s.tracking.out.seen {
		s.tracking.out.add(&s.group, changer{
			session: s, script: isScript(s.ctx.Cmd), scan: s.ctx.Cmd.Is(commands.AllShards),
		})
	}
}

// invalidateServed is invalidate for changes on behalf of session to, which was
// blocked on a key. As in Redis, the author in BCAST mode is the session that has
// pushed to the key.
func (s *Session) invalidateServed(to *Session, k store.ReadyKey) {
	if s.recording && len(s.group.Changes()) > s.tracking.out.seen {
		s.tracking.out.add(&s.group, changer{session: to, filled: k.Key, giver: s})
	}
}
