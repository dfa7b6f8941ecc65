package pubsub

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
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
	topics  [Kinds]dict.Dict[topic] // protected by mu, as are the fields below
	made    uint64                  // topics so far
	pending []*Subscriber           // they get messages when mu is released
	text    []byte                  // scratch space of publishEvent

	departed departed
	deferred deferredEvents
}

// A topic has its subscribers in the order of subscription: at least one.
type topic struct {
	subscribers []*Subscriber
	number      uint64 // topics are numbered as they are made
}

type topicNode = dict.Node[topic]

// topicBytes returns the memory of a topic that has one subscriber.
func topicBytes(n *topicNode) int64 {
	return int64(n.Bytes()) + alloc.Pointers(int(unsafe.Sizeof((*Subscriber)(nil))))
}

// departed are subscribers to be removed by the next who acquires the Broker's
// lock: they ended, or were killed, while a script held it.
type departed struct {
	mu     sync.Mutex
	ended  []endedSubscriber        // protected by mu
	killed map[*Subscriber]struct{} // protected by mu: their topics belong to their goroutine
}

type endedSubscriber struct {
	subscriber *Subscriber
	topics     *subscriptions
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
	if to := b.topics[kind].Get(dict.Hash(channel), channel); to != nil {
		n += b.sendAll(from, to, push(resp.Bulk(words[kind].message), name, body))
	}
	if kind != Channels {
		return n
	}
	for _, to := range b.matching(channel) {
		word := resp.Bulk(words[Patterns].message)
		n += b.sendAll(from, to, push(word, resp.Bulk(to.Key()), name, body))
	}
	return n
}

// matching returns the patterns that match a channel, the oldest first. It requires mu.
func (b *Broker) matching(channel []byte) (out []*topicNode) {
	if b.topics[Patterns].Len() == 0 {
		return nil
	}
	name := string(channel)
	for n := range b.topics[Patterns].All() {
		if commands.GlobMatch([]byte(n.Key()), name) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *topicNode) int { return cmp.Compare(a.Value.number, b.Value.number) })
	return out
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
	if to := b.topics[kind].GetString(dict.HashString(topic), topic); to != nil {
		b.sendAll(nil, to, push(append(elems, resp.Bulk(channel), resp.Bulk(message))...))
	}
	b.release()
}

func (b *Broker) sendAll(from *Subscriber, to *topicNode, m *Message) int {
	for _, s := range to.Value.subscribers {
		if !s.Mail.detached.Load() {
			b.Send(from, s, m)
		}
	}
	return len(to.Value.subscribers)
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
func (b *Broker) subscribe(s *Subscriber, kind Kind, name []byte) {
	if s.topics == nil {
		s.topics = new(subscriptions)
	}
	hash := dict.Hash(name)
	own, created := s.topics.kinds[kind].Put(hash, name)
	if !created {
		return
	}
	n, created := b.topics[kind].Put(hash, name)
	if created {
		b.made++
		n.Value.number = b.made
		if b.Topic != nil {
			b.Topic(kind, string(name), true)
		}
	}
	n.Value.subscribers = append(n.Value.subscribers, s)
	if isSentinels(kind, n.Key()) {
		b.Sentinels.Add(1)
	}
	b.updateHeard()
	own.Value = n
	s.topics.bytes += topicBytes(n)
}

// unsubscribe ends a subscription, if it exists. It requires mu.
func (b *Broker) unsubscribe(s *Subscriber, kind Kind, name string) {
	if s.topics == nil {
		return
	}
	own := s.topics.kinds[kind].Delete(dict.HashString(name), []byte(name))
	if own == nil {
		return
	}
	s.topics.bytes -= topicBytes(own.Value)
	b.remove(kind, own.Value, func(o *Subscriber) bool { return o == s })
	if s.Counts() == [Kinds]int{} {
		s.topics = nil
	}
}

// remove removes subscribers from a topic, if they are there, and the topic if no other is. It requires mu.
func (b *Broker) remove(kind Kind, n *topicNode, gone func(s *Subscriber) bool) {
	before := len(n.Value.subscribers)
	n.Value.subscribers = alloc.Trim(slices.DeleteFunc(n.Value.subscribers, gone))
	if isSentinels(kind, n.Key()) {
		b.Sentinels.Add(int64(len(n.Value.subscribers) - before))
	}
	if before == 0 || len(n.Value.subscribers) > 0 {
		return
	}
	b.topics[kind].Unlink(n)
	if b.Topic != nil {
		b.Topic(kind, n.Key(), false)
	}
	b.updateHeard()
}

// updateHeard calls Heard. It requires mu.
func (b *Broker) updateHeard() { b.Heard(b.topics[Channels].Len()+b.topics[Patterns].Len() > 0) }

// removeDeparted removes departed subscribers. It requires mu.
func (b *Broker) removeDeparted() {
	ended, killed := b.departed.drain()
	for _, e := range ended {
		b.removeAll(e.subscriber, e.topics)
	}
	if len(killed) == 0 {
		return
	}
	for kind := range Kinds {
		for n := range b.topics[kind].All() {
			b.remove(kind, n, func(s *Subscriber) bool { _, gone := killed[s]; return gone })
		}
	}
}

// removeAll removes a subscriber from its topics. It requires mu.
func (b *Broker) removeAll(s *Subscriber, topics *subscriptions) {
	if topics == nil {
		return
	}
	for kind := range Kinds {
		for own := range topics.kinds[kind].All() {
			b.remove(kind, own.Value, func(o *Subscriber) bool { return o == s })
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
		b.removeAll(s, s.topics)
	} else {
		s.Mail.detached.Store(true)
		b.departed.add(endedSubscriber{s, s.topics})
	}
	s.topics = nil
	s.updateSubscribed()
}

// names returns the topics of a kind that a pattern matches, or all if it is nil,
// sorted. It requires mu.
func (b *Broker) names(kind Kind, pattern []byte) []string {
	var out []string
	for n := range b.topics[kind].All() {
		name := n.Key()
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
	for kind := range b.topics {
		counts[kind] = b.topics[kind].Len()
	}
	return counts
}

// Receivers calls yield with the owner of each session that receives messages of
// a channel or a shard channel. It acquires the lock.
func (b *Broker) Receivers(channel []byte, yield func(owner any)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	topics := b.matching(channel)
	for _, kind := range []Kind{Channels, ShardChannels} {
		if n := b.topics[kind].Get(dict.Hash(channel), channel); n != nil {
			topics = append(topics, n)
		}
	}
	for _, n := range topics {
		for _, s := range n.Value.subscribers {
			yield(s.Owner)
		}
	}
}

// Owners returns the owners of the subscribers of the topics that match, some of them
// perhaps repeatedly. The caller must have acquired the lock.
func (b *Broker) Owners(match func(topic string, pattern bool) bool) (owners []any) {
	for kind := range Kinds {
		for n := range b.topics[kind].All() {
			if !match(n.Key(), kind == Patterns) {
				continue
			}
			for _, s := range n.Value.subscribers {
				owners = append(owners, s.Owner)
			}
		}
	}
	return owners
}
