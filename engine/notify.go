package engine

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/effects"
)

// Keyspace notifications are messages that tell of changes: what a group has
// remembered of them (docs/adr/0025-what-changed.md), published as by PUBLISH in
// the order in which it happened. A message stands where the change stands: before
// whatever is published or subscribed to behind it, and before the reply of the
// command, for who listens to itself.

// eventClasses are the letters of notify-keyspace-events that have a meaning here.
// K and E say to what channels the events of the other classes go.
var eventClasses = map[rune]effects.Flags{
	'K': effects.KeyspaceChannels, 'E': effects.KeyeventChannels,
	'g': effects.Generic, '$': effects.Strings, 'l': effects.Lists, 's': effects.Sets, 'h': effects.Hashes,
	'z': effects.ZSets, 'x': effects.Expiries, 'e': effects.Evictions, 'm': effects.Misses, 'n': effects.News,
}

const eventChannels = effects.KeyspaceChannels | effects.KeyeventChannels

// wantedEvents is what the value of notify-keyspace-events asks for, 0 where that
// is nothing: a class without a channel, or a channel without a class.
func wantedEvents(letters string) (flags effects.Flags) {
	for _, letter := range letters {
		flags |= eventClasses[letter]
	}
	if flags&eventChannels == 0 || flags&^eventChannels == 0 {
		return 0
	}
	return flags
}

// notify publishes the events among a group's changes from the given one on, and
// returns how many changes there are. It requires mu.
func (p *pubsub) notify(from *Session, g *effects.Group, since int) int {
	changes, to := g.Changes(), g.Wanted()&eventChannels
	for i := since; i < len(changes); i++ {
		if c := &changes[i]; g.Wanted()&c.Event.Class != 0 {
			p.tell(from, to, c.DB, c.Event.Name, g.Key(c))
		}
	}
	return len(changes)
}

// tell publishes one event. It requires mu.
func (p *pubsub) tell(from *Session, to effects.Flags, db int, event string, key []byte) {
	word := append(p.text[:0], event...)
	if to&effects.KeyspaceChannels != 0 {
		p.text = append(appendEventChannel(word, "__keyspace@", db), key...)
		p.publish(from, channels, p.text[len(event):], word)
	}
	if to&effects.KeyeventChannels != 0 {
		p.text = append(appendEventChannel(word, "__keyevent@", db), event...)
		p.publish(from, channels, p.text[len(event):], key)
	}
	if cap(p.text) > keptMail {
		p.text = nil
	}
}

func appendEventChannel(b []byte, kind string, db int) []byte {
	return append(strconv.AppendInt(append(b, kind...), int64(db), 10), "__:"...)
}

// notify publishes the events of what the command under way has changed so far.
func (s *Session) notify() {
	if s.recording && s.notified < len(s.group.Changes()) && s.group.Wanted()&eventChannels != 0 {
		s.hold()
	}
}

// notifyReclaimed publishes the events of a step of reclaiming, whose shards are
// held. It does not wait: where a script has mu for long, the script's own session
// publishes them.
func (e *Engine) notifyReclaimed(g *effects.Group) {
	p := &e.pubsub
	if len(g.Changes()) == 0 || g.Wanted()&eventChannels == 0 {
		return
	}
	p.late.add(g)
	if p.mu.TryLock() {
		p.release()
	}
}

// lateEvents are those of reclaimed keys that nobody has published yet. Whoever
// has mu of pubsub publishes them when it acquires it, before a change of his own,
// and when it releases it.
type lateEvents struct {
	some atomic.Bool // there are any
	mu   sync.Mutex
	all  []lateEvent // protected by mu
}

type lateEvent struct {
	to    effects.Flags
	db    int
	event string
	key   string
}

func (l *lateEvents) add(g *effects.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes := g.Changes()
	for i := range changes {
		if c := &changes[i]; g.Wanted()&c.Event.Class != 0 {
			l.all = append(l.all, lateEvent{g.Wanted() & eventChannels, c.DB, c.Event.Name, string(g.Key(c))})
		}
	}
	l.some.Store(len(l.all) > 0)
}

func (l *lateEvents) take() []lateEvent {
	if !l.some.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	l.some.Store(false)
	return all
}

// tellLate publishes the events of reclaimed keys. It requires mu.
func (p *pubsub) tellLate() {
	for _, e := range p.late.take() {
		p.tell(nil, e.to, e.db, e.event, []byte(e.key))
	}
}

// release wakes those who were sent something, and releases mu. Events that came
// too late to be published meanwhile are published by whoever acquires it next,
// which is the caller where nobody else does.
func (p *pubsub) release() {
	for {
		p.tellLate()
		for _, o := range p.told {
			o.mail.told = false
			if o.mail.release() {
				o.wake()
			}
		}
		clear(p.told)
		p.told = p.told[:0]
		p.mu.Unlock()
		if !p.late.some.Load() || !p.mu.TryLock() {
			return
		}
	}
}
