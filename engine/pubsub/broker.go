package pubsub

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A Kind is a kind of topic.
type Kind int

// The kinds of topics.
const (
	Channels Kind = iota
	Patterns      // of channel names
	ShardChannels

	Kinds
)

// words are the first words of what a kind's subscribers are sent.
var words = [Kinds]struct{ subscribed, unsubscribed, message string }{
	Channels:      {"subscribe", "unsubscribe", "message"},
	Patterns:      {"psubscribe", "punsubscribe", "pmessage"},
	ShardChannels: {"ssubscribe", "sunsubscribe", "smessage"},
}

// SentinelChannel is the channel to which Redis Sentinel subscribes at each server that it watches.
const SentinelChannel = "__sentinel__:hello"

func isSentinels(kind Kind, name string) bool { return kind == Channels && name == SentinelChannel }

// A Broker knows who has subscribed to what. Its lock is acquired after those of
// shards and before those of mailboxes. A session that publishes or subscribes
// holds it until its command, script or EXEC ends (Acquire, Release). So all
// subscribers see all messages in one order, and nothing comes between those of
// one transaction.
type Broker struct {
	// Limits are the bytes that may wait in the mailbox of a subscriber, and in
	// that of any other session; 0: no limit.
	Limits struct{ Subscriber, Normal atomic.Int64 }

	// Heard is called when there begin or cease to be subscriptions to channels
	// or patterns, with the lock held.
	Heard func(heard bool)

	// Topic is called when a topic gets its first subscriber, and when it has lost the last, with
	// the lock held. It may be nil.
	Topic func(kind Kind, name string, subscribed bool)

	// Sentinels is how many sessions have subscribed to SentinelChannel.
	Sentinels atomic.Int64

	mu      sync.Mutex
	topics  [Kinds]map[string]subscribers // protected by mu; no set is empty
	order   []string                      // protected by mu: the patterns in the order of subscription
	pending []*Subscriber                 // protected by mu: they get messages when mu is released
	text    []byte                        // protected by mu: scratch space of publishEvent

	departed departed
	deferred deferredEvents
}

// subscribers are those of one topic.
type subscribers map[*Subscriber]struct{}

// departed are subscribers to be removed by the next who acquires the Broker's
// lock: they ended, or were killed, while a script held it.
type departed struct {
	mu     sync.Mutex
	ended  []endedSubscriber        // protected by mu
	killed map[*Subscriber]struct{} // protected by mu: their topics belong to their goroutine
}

type endedSubscriber struct {
	subscriber *Subscriber
	topics     [Kinds]map[string]struct{}
}

func (d *departed) add(s endedSubscriber) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, s)
}

func (d *departed) drain() ([]endedSubscriber, map[*Subscriber]struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended, killed := d.ended, d.killed
	d.ended, d.killed = nil, nil
	return ended, killed
}

// Killed says that a subscriber, whose goroutine may still run, is to receive
// nothing more. Any goroutine may call it.
func (b *Broker) Killed(s *Subscriber) {
	d := &b.departed
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed == nil {
		d.killed = make(map[*Subscriber]struct{})
	}
	d.killed[s] = struct{}{}
}

// Acquire acquires the lock for a session, unless the session holds it.
func (b *Broker) Acquire(s *Subscriber) {
	if s.holding {
		return
	}
	b.mu.Lock()
	s.holding = true
	b.removeDeparted()
	b.publishDeferred()
}

// Release ends Acquire. Sessions that were sent something get it now.
func (b *Broker) Release(s *Subscriber) {
	if s.holding {
		s.holding = false
		b.release()
	}
}

// release makes held messages available, wakes who was sent one, and releases mu.
// Events that were deferred meanwhile are published by whoever acquires mu next:
// the caller, if nobody else does.
func (b *Broker) release() {
	for {
		b.publishDeferred()
		for _, s := range b.pending {
			s.pending = false
			if s.Mail.release() {
				s.WakeUp()
			}
		}
		clear(b.pending)
		b.pending = b.pending[:0]
		b.mu.Unlock()
		if !b.deferred.some.Load() || !b.mu.TryLock() {
			return
		}
	}
}

// publish sends a message and returns how many subscriptions received it. It
// requires mu.
func (b *Broker) publish(from *Subscriber, kind Kind, channel, message []byte) int {
	name, body := resp.BulkBytes(channel), resp.BulkBytes(message)
	n := 0
	if to := b.topics[kind][string(channel)]; len(to) > 0 {
		n += b.sendAll(from, to, push(resp.Bulk(words[kind].message), name, body))
	}
	if kind != Channels {
		return n
	}
	for _, pattern := range b.order {
		if commands.GlobMatch([]byte(pattern), string(channel)) {
			word := resp.Bulk(words[Patterns].message)
			n += b.sendAll(from, b.topics[Patterns][pattern], push(word, resp.Bulk(pattern), name, body))
		}
	}
	return n
}

// Deliver sends the subscribers of one topic a message that was published elsewhere. It acquires the
// lock.
func (b *Broker) Deliver(kind Kind, topic, channel, message string) {
	elems := []resp.Value{resp.Bulk(words[kind].message)}
	if kind == Patterns {
		elems = append(elems, resp.Bulk(topic))
	}
	b.mu.Lock()
	b.removeDeparted()
	b.sendAll(nil, b.topics[kind][topic], push(append(elems, resp.Bulk(channel), resp.Bulk(message))...))
	b.release()
}

func (b *Broker) sendAll(from *Subscriber, to subscribers, m *Message) int {
	for s := range to {
		if !s.Mail.detached.Load() {
			b.Send(from, s, m)
		}
	}
	return len(to)
}

// Send sends a message to one session. from is the session whose goroutine this
// is, nil for none. Another session receives the message when the command of from
// has ended, and what that did is in the log; then the lock must be held.
func (b *Broker) Send(from, to *Subscriber, m *Message) {
	if to == from && to.InExec {
		to.inline = append(to.inline, m)
		return
	}
	if to.Mail.put(m, b.Limit(to), to != from) && to != from {
		to.WakeUp() // the limit was exceeded
	}
	if to != from && !to.pending {
		to.pending = true
		b.pending = append(b.pending, to)
	}
}

// Limit returns how many bytes may wait for a session; 0: any number.
func (b *Broker) Limit(s *Subscriber) int64 {
	if s.Mail.Subscribed() {
		return b.Limits.Subscriber.Load()
	}
	return b.Limits.Normal.Load()
}

// subscribe adds a subscription, which may exist. It requires mu.
func (b *Broker) subscribe(s *Subscriber, kind Kind, name string) {
	if _, ok := s.topics[kind][name]; ok {
		return
	}
	if b.topics[kind] == nil {
		b.topics[kind] = make(map[string]subscribers)
	}
	to := b.topics[kind][name]
	if to == nil {
		to = make(subscribers)
		b.topics[kind][name] = to
		if b.Topic != nil {
			b.Topic(kind, name, true)
		}
		if kind == Patterns {
			b.order = append(b.order, name)
		}
	}
	to[s] = struct{}{}
	if isSentinels(kind, name) {
		b.Sentinels.Add(1)
	}
	b.updateHeard()
	if s.topics[kind] == nil {
		s.topics[kind] = make(map[string]struct{})
	}
	s.topics[kind][name] = struct{}{}
}

// unsubscribe ends a subscription, if it exists. It requires mu.
func (b *Broker) unsubscribe(s *Subscriber, kind Kind, name string) {
	if _, ok := s.topics[kind][name]; !ok {
		return
	}
	delete(s.topics[kind], name)
	b.remove(s, kind, name)
}

// remove removes a session from a topic, if it is there. It requires mu.
func (b *Broker) remove(s *Subscriber, kind Kind, name string) {
	to := b.topics[kind][name]
	if _, ok := to[s]; !ok {
		return
	}
	delete(to, s)
	if isSentinels(kind, name) {
		b.Sentinels.Add(-1)
	}
	if len(to) > 0 {
		return
	}
	delete(b.topics[kind], name)
	if b.Topic != nil {
		b.Topic(kind, name, false)
	}
	if kind == Patterns {
		i := slices.Index(b.order, name)
		b.order = slices.Delete(b.order, i, i+1)
	}
	b.updateHeard()
}

// updateHeard calls Heard. It requires mu.
func (b *Broker) updateHeard() { b.Heard(len(b.topics[Channels])+len(b.topics[Patterns]) > 0) }

// removeDeparted removes departed subscribers. It requires mu.
func (b *Broker) removeDeparted() {
	ended, killed := b.departed.drain()
	for _, e := range ended {
		for kind, names := range e.topics {
			for name := range names {
				b.remove(e.subscriber, Kind(kind), name)
			}
		}
	}
	if len(killed) == 0 {
		return
	}
	for kind, topics := range b.topics {
		for name, to := range topics {
			for s := range to {
				if _, ok := killed[s]; ok {
					b.remove(s, Kind(kind), name)
				}
			}
		}
	}
}

// Unsubscribe ends every subscription of a session, and sends nothing. It does
// not wait for the lock, which a script may hold for long.
func (b *Broker) Unsubscribe(s *Subscriber) {
	if !s.holding && b.mu.TryLock() {
		s.holding = true
		b.removeDeparted()
	}
	if s.holding {
		for kind := range Kinds {
			for name := range s.topics[kind] {
				b.unsubscribe(s, kind, name)
			}
		}
	} else {
		s.Mail.detached.Store(true)
		b.departed.add(endedSubscriber{s, s.topics})
		s.topics = [Kinds]map[string]struct{}{}
	}
	s.updateSubscribed()
}

// names returns the topics of a kind that a pattern matches, or all if it is nil,
// sorted. It requires mu.
func (b *Broker) names(kind Kind, pattern []byte) []string {
	var out []string
	for name := range b.topics[kind] {
		if pattern == nil || commands.GlobMatch(pattern, name) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// Topics returns how many topics of each kind have subscribers. The caller must
// have acquired the lock.
func (b *Broker) Topics() (counts [Kinds]int) {
	for kind, topics := range b.topics {
		counts[kind] = len(topics)
	}
	return counts
}

// Receivers calls yield with the owner of each session that receives messages of
// a channel or a shard channel. It acquires the lock.
func (b *Broker) Receivers(channel []byte, yield func(owner any)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range []Kind{Channels, ShardChannels} {
		for s := range b.topics[kind][string(channel)] {
			yield(s.Owner)
		}
	}
	for _, pattern := range b.order {
		if commands.GlobMatch([]byte(pattern), string(channel)) {
			for s := range b.topics[Patterns][pattern] {
				yield(s.Owner)
			}
		}
	}
}

// Owners returns the owners of the subscribers of the topics that match, some of them
// perhaps repeatedly. The caller must have acquired the lock.
func (b *Broker) Owners(match func(topic string, pattern bool) bool) (owners []any) {
	for kind, topics := range b.topics {
		for topic, to := range topics {
			if match(topic, Kind(kind) == Patterns) {
				for s := range to {
					owners = append(owners, s.Owner)
				}
			}
		}
	}
	return owners
}
