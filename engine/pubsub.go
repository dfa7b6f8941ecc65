package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A topicKind is what one can subscribe to.
type topicKind int

const (
	channels topicKind = iota
	patterns           // of channels' names
	shardChannels

	topicKinds
)

// topicWords are the first words of what a kind's subscribers are sent.
var topicWords = [topicKinds]struct{ joined, left, message string }{
	channels:      {"subscribe", "unsubscribe", "message"},
	patterns:      {"psubscribe", "punsubscribe", "pmessage"},
	shardChannels: {"ssubscribe", "sunsubscribe", "smessage"},
}

// pubsub is who listens to what. Its lock comes after the shards' and before
// the mailboxes'; who publishes or subscribes keeps it until the command, the
// script or the EXEC ends (Session.hold), so that all subscribers see all
// messages in one order and nothing comes between those of one transaction.
// See docs/adr/0007-pubsub.md.
type pubsub struct {
	mu     sync.Mutex
	topics [topicKinds]map[string]audience // protected by mu; none is without an audience
	order  []string                        // protected by mu: the patterns as they came
	told   []*Session                      // protected by mu: who gets something when the command under way ends

	text []byte // protected by mu: room for what an event is published as

	gone goneSubscribers
	late lateEvents
}

// goneSubscribers are sessions whose subscriptions have ended while somebody had
// mu, and that for as long as a script likes, or that were killed: the next who
// takes mu removes them.
type goneSubscribers struct {
	mu     sync.Mutex
	left   []goneSubscriber      // protected by mu
	killed map[*Session]struct{} // protected by mu: what they listen to is theirs to know
}

type goneSubscriber struct {
	session *Session
	topics  [topicKinds]map[string]struct{}
}

func (g *goneSubscribers) add(s goneSubscriber) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = append(g.left, s)
}

func (g *goneSubscribers) addKilled(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.killed == nil {
		g.killed = make(map[*Session]struct{})
	}
	g.killed[s] = struct{}{}
}

func (g *goneSubscribers) take() ([]goneSubscriber, map[*Session]struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left, killed := g.left, g.killed
	g.left, g.killed = nil, nil
	return left, killed
}

// audience is the sessions that listen to one topic.
type audience map[*Session]struct{}

// A letter is a message to any number of sessions, encoded once for each
// protocol that one of them speaks.
type letter struct {
	values  [resp.RESP3 + 1]resp.Value // by protocol; resp.None: it is not sent
	encoded [resp.RESP3 + 1][]byte
}

// letterOf is a letter that is the same in both protocols.
func letterOf(v resp.Value) *letter {
	return &letter{values: [...]resp.Value{resp.RESP2: v, resp.RESP3: v}}
}

func push(elems ...resp.Value) *letter { return letterOf(resp.Push(elems...)) }

func (l *letter) in(proto int) []byte {
	if l.encoded[proto] == nil {
		l.encoded[proto] = resp.Append(nil, &l.values[proto], proto)
	}
	return l.encoded[proto]
}

// publish sends a message and returns how many received it; a session counts
// as often as it receives it. It requires mu.
func (p *pubsub) publish(from *Session, kind topicKind, channel, message []byte) int {
	name, body := resp.BulkBytes(channel), resp.BulkBytes(message)
	n := 0
	if listeners := p.topics[kind][string(channel)]; len(listeners) > 0 {
		n += listeners.send(from, push(resp.Bulk(topicWords[kind].message), name, body))
	}
	if kind != channels {
		return n
	}
	for _, pattern := range p.order {
		if commands.GlobMatch([]byte(pattern), string(channel)) {
			word := resp.Bulk(topicWords[patterns].message)
			n += p.topics[patterns][pattern].send(from, push(word, resp.Bulk(pattern), name, body))
		}
	}
	return n
}

func (a audience) send(from *Session, l *letter) int {
	for s := range a {
		if !s.mail.deaf.Load() {
			s.receive(from, l)
		}
	}
	return len(a)
}

// receive puts a letter into the session's mailbox; from is the session whose
// goroutine this is. Another session gets it when the command under way has
// ended, and what it did is in the log. It requires mu of the engine's pubsub.
func (s *Session) receive(from *Session, l *letter) {
	if s == from && s.inExec {
		s.inside = append(s.inside, l.in(s.proto)...)
		return
	}
	if s.mail.put(l, s.mailLimit(), s != from) && s != from {
		s.wake() // there was too much
	}
	if p := &s.engine.pubsub; s != from && !s.mail.told {
		s.mail.told = true
		p.told = append(p.told, s)
	}
}

// mailLimit is how many bytes may wait for the session.
func (s *Session) mailLimit() int64 {
	if s.mail.listens.Load() {
		return s.engine.mailLimits.subscriber.Load()
	}
	return s.engine.mailLimits.normal.Load()
}

func (s *Session) wake() {
	if s.peer.Wake != nil {
		s.peer.Wake()
	}
}

// join adds a subscription; there may be one already. It requires mu.
func (p *pubsub) join(s *Session, kind topicKind, name string) {
	if _, ok := s.topics[kind][name]; ok {
		return
	}
	if p.topics[kind] == nil {
		p.topics[kind] = make(map[string]audience)
	}
	listeners := p.topics[kind][name]
	if listeners == nil {
		listeners = make(audience)
		p.topics[kind][name] = listeners
		if kind == patterns {
			p.order = append(p.order, name)
		}
	}
	listeners[s] = struct{}{}
	s.engine.recording.hear(p.isHeard())
	if s.topics[kind] == nil {
		s.topics[kind] = make(map[string]struct{})
	}
	s.topics[kind][name] = struct{}{}
}

// leave ends a subscription, if there is one. It requires mu.
func (p *pubsub) leave(s *Session, kind topicKind, name string) {
	if _, ok := s.topics[kind][name]; !ok {
		return
	}
	delete(s.topics[kind], name)
	p.remove(s, kind, name)
}

// remove takes a session out of a topic's audience, where it may no longer be.
// It requires mu.
func (p *pubsub) remove(s *Session, kind topicKind, name string) {
	listeners := p.topics[kind][name]
	if _, ok := listeners[s]; !ok {
		return
	}
	delete(listeners, s)
	if len(listeners) > 0 {
		return
	}
	delete(p.topics[kind], name)
	if kind == patterns {
		i := slices.Index(p.order, name)
		p.order = slices.Delete(p.order, i, i+1)
	}
	s.engine.recording.hear(p.isHeard())
}

// isHeard reports whether somebody listens to a channel or a pattern. It requires
// mu.
func (p *pubsub) isHeard() bool { return len(p.topics[channels])+len(p.topics[patterns]) > 0 }

// sweep removes who has gone. It requires mu.
func (p *pubsub) sweep() {
	left, killed := p.gone.take()
	for _, g := range left {
		for kind, names := range g.topics {
			for name := range names {
				p.remove(g.session, topicKind(kind), name)
			}
		}
	}
	if len(killed) == 0 {
		return
	}
	for kind, topics := range p.topics {
		for name, listeners := range topics {
			for s := range listeners {
				if _, ok := killed[s]; ok {
					p.remove(s, topicKind(kind), name)
				}
			}
		}
	}
}

// leaveAll ends every subscription of a session. It requires mu.
func (p *pubsub) leaveAll(s *Session) {
	for kind := range topicKinds {
		for name := range s.topics[kind] {
			p.leave(s, kind, name)
		}
	}
}

// names are the topics of a kind that a pattern matches, sorted. It requires mu.
func (p *pubsub) names(kind topicKind, pattern []byte) []string {
	var out []string
	for name := range p.topics[kind] {
		if commands.GlobMatch(pattern, name) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// hold takes the lock of pubsub until the command under way ends, and publishes
// the events of what that has changed so far.
func (s *Session) hold() *pubsub {
	p := &s.engine.pubsub
	if !s.holding {
		p.mu.Lock()
		s.holding = true
		p.sweep()
		p.tellLate()
	}
	if s.recording {
		s.notified = p.notify(s, &s.group, s.notified)
	}
	return p
}

// letGo ends hold.
func (s *Session) letGo() {
	if !s.holding {
		return
	}
	s.holding = false
	s.engine.pubsub.release()
}

// Subscribed reports whether the session listens to anything.
func (s *Session) Subscribed() bool { return s.subscribed }

// Deliver appends to b, encoded, what was published for the session since its
// last command. Where lost is not 0, so many bytes were waiting when they broke
// client-output-buffer-limit, and the connection is to be closed.
func (s *Session) Deliver(b []byte) (out []byte, lost int) {
	return s.mail.take(b, s.proto), s.mail.overflow()
}

// collect takes what has come so far, to be sent before the reply of the command
// under way. Called with the command's shards locked, it puts messages before
// the reply exactly where they were published before the command ran, as far
// as its keys can tell.
func (s *Session) collect() {
	if s.mail.full.Load() || s.mail.proto != s.proto {
		s.before = s.mail.take(s.before, s.proto)
	}
}

// withMail is a reply behind what was collected.
func (s *Session) withMail(reply resp.Value) resp.Value {
	b := resp.Append(s.before, &reply, s.proto)
	s.before = b[:0]
	if cap(b) > keptMail {
		s.before = nil
	}
	return resp.Encoded(b)
}

// subscriptions counts the session's subscriptions as replies do: shard
// channels apart from the rest.
func (s *Session) subscriptions(kind topicKind) int64 {
	if kind == shardChannels {
		return int64(len(s.topics[shardChannels]))
	}
	return int64(len(s.topics[channels]) + len(s.topics[patterns]))
}

// showSubscriptions tells others what the session has subscribed to.
func (s *Session) showSubscriptions() {
	s.subscribed = s.subscriptions(channels)+s.subscriptions(shardChannels) > 0
	s.mail.listens.Store(s.subscribed)
	s.edit(func(p *public) {
		for kind, names := range s.topics {
			p.topics[kind] = len(names)
		}
	})
}

// unsubscribe ends every subscription without a word. It waits for nobody: a
// script that has published may go on for long.
func (s *Session) unsubscribe() {
	if !s.subscribed {
		return
	}
	p := &s.engine.pubsub
	if !s.holding && p.mu.TryLock() {
		s.holding = true
		p.sweep()
	}
	if s.holding {
		p.leaveAll(s)
	} else {
		s.mail.deaf.Store(true)
		p.gone.add(goneSubscriber{s, s.topics})
		s.topics = [topicKinds]map[string]struct{}{}
	}
	s.showSubscriptions()
}

// subscribers is how many sessions listen to anything.
func (e *Engine) subscribers() int {
	n := 0
	for _, s := range e.sessions.all() {
		if p := s.view(); p.subscribed() {
			n++
		}
	}
	return n
}
