package pubsub

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/effects"
)

// Keyspace notifications are messages about changes, which a group of effects
// remembers (docs/adr/0025-what-changed.md), published in the order of the
// changes. A notification precedes whatever is published or subscribed to after
// the change, and the reply of the command to a session that subscribes to it.

// eventClasses are the letters of notify-keyspace-events that have an effect here.
// K and E select the channels that events of the other classes go to.
var eventClasses = map[rune]effects.Flags{
	'K': effects.KeyspaceChannels, 'E': effects.KeyeventChannels,
	'g': effects.Generic, '$': effects.Strings, 'l': effects.Lists, 's': effects.Sets, 'h': effects.Hashes,
	'z': effects.ZSets, 'x': effects.Expiries, 'e': effects.Evictions, 'm': effects.Misses,
	'n': effects.NewKeys,
}

const eventChannels = effects.KeyspaceChannels | effects.KeyeventChannels

// WantedEvents returns what a value of notify-keyspace-events asks for: 0 for a
// class without a channel, or a channel without a class.
func WantedEvents(value string) (flags effects.Flags) {
	for _, letter := range value {
		flags |= eventClasses[letter]
	}
	if flags&eventChannels == 0 || flags&^eventChannels == 0 {
		return 0
	}
	return flags
}

// HasEvents reports whether a group has changes, from index since on, that
// PublishEvents may publish.
func HasEvents(g *effects.Group, since int) bool {
	return since < len(g.Changes()) && g.Wanted()&eventChannels != 0
}

// PublishEvents publishes the events of a group's changes, from index since on,
// and returns the number of its changes. The session must have acquired the lock.
func (b *Broker) PublishEvents(from *Subscriber, g *effects.Group, since int) int {
	changes, to := g.Changes(), g.Wanted()&eventChannels
	for i := since; i < len(changes); i++ {
		if c := &changes[i]; g.Wanted()&c.Event.Class != 0 {
			b.publishEvent(from, to, c.DB, c.Event.Name, g.Key(c))
		}
	}
	return len(changes)
}

// publishEvent publishes one event. It requires mu.
func (b *Broker) publishEvent(from *Subscriber, to effects.Flags, db int, event string, key []byte) {
	word := append(b.text[:0], event...)
	if to&effects.KeyspaceChannels != 0 {
		b.text = append(appendEventChannel(word, "__keyspace@", db), key...)
		b.publish(from, Channels, b.text[len(event):], word)
	}
	if to&effects.KeyeventChannels != 0 {
		b.text = append(appendEventChannel(word, "__keyevent@", db), event...)
		b.publish(from, Channels, b.text[len(event):], key)
	}
	if cap(b.text) > MaxIdleBytes {
		b.text = nil
	}
}

func appendEventChannel(b []byte, kind string, db int) []byte {
	return append(strconv.AppendInt(append(b, kind...), int64(db), 10), "__:"...)
}

// DeferEvents publishes the events of a step of reclaiming, whose shards are
// locked. It does not wait: if a script holds the lock, they are published when
// the script releases it.
func (b *Broker) DeferEvents(g *effects.Group) {
	if !HasEvents(g, 0) {
		return
	}
	b.deferred.add(g)
	if b.mu.TryLock() {
		b.release()
	}
}

// deferredEvents are events of reclaimed keys that are not published yet. Whoever
// holds the Broker's lock publishes them when it acquires the lock, before its
// own changes, and when it releases it.
type deferredEvents struct {
	some   atomic.Bool // there are any
	mu     sync.Mutex
	events []deferredEvent // protected by mu
}

type deferredEvent struct {
	to    effects.Flags
	db    int
	event string
	key   string
}

func (d *deferredEvents) add(g *effects.Group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changes := g.Changes()
	for i := range changes {
		if c := &changes[i]; g.Wanted()&c.Event.Class != 0 {
			d.events = append(d.events, deferredEvent{
				g.Wanted() & eventChannels, c.DB, c.Event.Name,
				string(g.Key(c)),
			})
		}
	}
	d.some.Store(len(d.events) > 0)
}

func (d *deferredEvents) drain() []deferredEvent {
	if !d.some.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	events := d.events
	d.events = nil
	d.some.Store(false)
	return events
}

// publishDeferred publishes the deferred events. It requires mu.
func (b *Broker) publishDeferred() {
	for _, e := range b.deferred.drain() {
		b.publishEvent(nil, e.to, e.db, e.event, []byte(e.key))
	}
}
