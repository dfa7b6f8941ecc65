package tracking

import (
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Invalidations are the messages to send when the command, script, EXEC or step of
// reclaiming under way has ended and its changes are in the journal.
type Invalidations struct {
	state  *State
	client *Client // that runs the command; nil: none

	seen         int            // how many of the group's changes are in here
	beforeReply  []invalidation // sent before the replies of the command and of the sessions it has served
	afterReplies []invalidation // sent after them: to clients that have changed the key themselves
	modified     []broadcastChange
}

// An invalidation is a notice to one client.
type invalidation struct {
	to     *Mode
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

// An Author is the author of changes.
type Author struct {
	Client *pubsub.Subscriber // nil: none
	Script bool               // it was a script: in BCAST mode the change has no author
	Scan   bool               // it was a command that visits keys which it does not name
	Filled string             // a key that Giver has pushed to before Client was served from it
	Giver  *pubsub.Subscriber
}

// Missed reports whether the group has changes since the last call of Add.
func (out *Invalidations) Missed(g *effects.Group) bool { return len(g.Changes()) > out.seen }

// Commit is called when the group's changes are in the journal and a new one begins.
func (out *Invalidations) Commit() { out.seen = 0 }

// Add adds the group's changes since the last call. Their keys must be locked.
func (out *Invalidations) Add(g *effects.Group, by Author) {
	t := out.state
	prefixes := t.prefixes.load()
	changes := g.Changes()
	for ; out.seen < len(changes); out.seen++ {
		c := &changes[out.seen]
		switch {
		case c.Kind == effects.Flushed:
			out.addFlush(changes, by.Client)
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
func (out *Invalidations) addKey(key string, readers []*reader, by Author, kind effects.Kind) {
	n := newNotice(resp.Array(resp.Bulk(key)))
	for _, reader := range readers {
		mode := reader.mode.Load()
		if mode == nil || mode.bcast {
			continue
		}
		if knows := mode.noLoop && mode.client == by.Client; !knows || by.Scan && kind == effects.Expired ||
			kind == effects.Evicted {
			out.addFor(mode, n, by.Client)
		}
	}
}

// addFor adds an invalidation to one client for a change of client by.
func (out *Invalidations) addFor(to *Mode, n *notice, by *pubsub.Subscriber) {
	switch own := out.client; {
	case to.client == by:
		out.afterReplies = append(out.afterReplies, invalidation{to, n})
	case own != nil && to.redirect != 0 && to.redirect == own.id:
		// As in Redis, a client to which others redirect receives it before the reply
		// of its command, within EXEC inside the array.
		out.state.broker.Send(own.subscriber, own.subscriber, n.redirected)
	default:
		out.beforeReply = append(out.beforeReply, invalidation{to, n})
	}
}

// author returns the client that has made a change, as BCAST mode sees it.
func (by Author) author(key []byte, kind effects.Kind) *pubsub.Subscriber {
	switch {
	case by.Script || kind == effects.Expired || kind == effects.Evicted:
		return nil
	case by.Giver != nil && by.Filled == string(key):
		return by.Giver
	}
	return by.Client
}

// addFlush adds one invalidation of all keys to every client, for a database that
// was flushed. Every shard must be locked. FLUSHALL, which flushes one database
// after the other, makes one.
func (out *Invalidations) addFlush(changes []effects.Change, by *pubsub.Subscriber) {
	if i := out.seen; i > 0 {
		last, this := &changes[i-1], &changes[i]
		if last.Kind == effects.Flushed && last.DB == this.DB-1 {
			return
		}
	}
	out.state.table.clear(store.AllShards)
	n := newNotice(resp.Null)
	for _, mode := range out.state.modes() {
		out.addFor(mode, n, by)
	}
}

// addEvicted adds invalidations of a key that the table has evicted to its readers.
// Readers with NOLOOP receive them, too: later changes of the key would not reach
// them.
func (out *Invalidations) addEvicted(key string, readers []*reader) {
	n := newNotice(resp.Array(resp.Bulk(key)))
	for _, reader := range readers {
		if mode := reader.mode.Load(); mode != nil && !mode.bcast {
			out.afterReplies = append(out.afterReplies, invalidation{mode, n})
		}
	}
}

// SendBeforeReply sends the invalidations that precede replies.
func (out *Invalidations) SendBeforeReply() { out.beforeReply = out.sendAll(out.beforeReply) }

// SendAfterReplies sends the rest. A client in BCAST mode receives one message for
// all changes under one of its prefixes.
func (out *Invalidations) SendAfterReplies() {
	out.afterReplies = out.sendAll(out.afterReplies)
	if len(out.modified) == 0 {
		return
	}
	if prefixes := out.state.prefixes.load(); prefixes != nil {
		prefixes.match(out.modified, out.broadcast)
	}
	clear(out.modified)
	out.modified = out.modified[:0]
}

// broadcast sends the clients of one prefix what has changed under it.
func (out *Invalidations) broadcast(clients []*Mode, changes []broadcastChange) {
	var all *notice
	for _, mode := range clients {
		if mode.noLoop {
			if others := keysOf(changes, mode.client); len(others) > 0 {
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

// keysOf returns the keys that changed, without those that client but has changed.
func keysOf(changes []broadcastChange, but *pubsub.Subscriber) []resp.Value {
	out := make([]resp.Value, 0, len(changes))
	for _, c := range changes {
		if but == nil || c.by != but {
			out = append(out, resp.Bulk(c.key))
		}
	}
	return out
}

// sendAll sends a list and returns it empty.
func (out *Invalidations) sendAll(list []invalidation) []invalidation {
	for _, inv := range list {
		out.send(inv.to, inv.notice)
	}
	clear(list)
	return list[:0]
}

// send sends a notice to a client, or to the one to which it redirects. If that has
// gone, the client receives a message which says so.
func (out *Invalidations) send(mode *Mode, n *notice) {
	if mode.redirect == 0 {
		out.deliver(mode.client, n.direct)
		return
	}
	switch to := out.state.find(mode.redirect); {
	case to == nil:
		mode.broken.Store(true)
		push := resp.Push(resp.Bulk("tracking-redir-broken"), resp.Int(mode.redirect))
		out.deliver(mode.client, pubsub.NewMessages(resp.None, push))
	case to.Mail.Subscribed():
		out.deliver(to, n.redirected)
	default:
		out.deliver(to, n.direct)
	}
}

// deliver puts a message into a mailbox: behind what the command under way has
// published, if it has. Otherwise it does not wait for the broker's lock, which a
// script may hold for long.
func (out *Invalidations) deliver(to *pubsub.Subscriber, m *pubsub.Message) {
	var from *pubsub.Subscriber
	if out.client != nil {
		from = out.client.subscriber
	}
	switch b := out.state.broker; {
	case from != nil && from.Holding():
		b.Send(from, to, m)
	case to.Mail.Insert(m, b.Limit(to)) && to != from:
		to.WakeUp()
	}
}
