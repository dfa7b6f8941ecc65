package pubsub

import (
	"slices"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
)

// A Subscriber is the part of a session that a Broker knows. Its fields are set
// before it is used. Its methods belong to the session's goroutine, except as
// they say.
type Subscriber struct {
	Mail  Mailbox
	Owner any    // the session
	Wake  func() // wakes the session's connection, from any goroutine; nil: it polls

	// InExec says that the session runs a command of EXEC: what it sends itself
	// then goes into EXEC's reply, see TakeInline.
	InExec bool

	topics  *subscriptions // nil: none
	holding bool           // it holds the Broker's lock
	pending bool           // it is in the Broker's pending; protected by the Broker's lock
	inline  []*Message     // see InExec
}

// subscriptions are the topics of one subscriber.
type subscriptions struct {
	kinds [Kinds]dict.Dict[*topicNode]
	bytes int64 // of the topics
}

// WakeUp wakes the session's connection. Any goroutine may call it.
func (s *Subscriber) WakeUp() {
	if s.Wake != nil {
		s.Wake()
	}
}

// Counts returns how many topics of each kind the session has subscribed to.
func (s *Subscriber) Counts() (counts [Kinds]int) {
	if s.topics == nil {
		return counts
	}
	for kind := range Kinds {
		counts[kind] = s.topics.kinds[kind].Len()
	}
	return counts
}

// Bytes returns the memory that the subscriptions take, names included. A topic counts as if it had no other
// subscriber, so that the bytes depend on this one alone.
func (s *Subscriber) Bytes() int64 {
	if s.topics == nil {
		return 0
	}
	n := alloc.Pointers(int(unsafe.Sizeof(*s.topics))) + s.topics.bytes
	for kind := range Kinds {
		n += s.topics.kinds[kind].Bytes()
	}
	return n
}

// Holding reports whether the session holds the Broker's lock.
func (s *Subscriber) Holding() bool { return s.holding }

// AppendInline appends what the session has sent itself within EXEC since the
// last call, encoded.
func (s *Subscriber) AppendInline(b []byte, proto int) []byte {
	for _, m := range s.inline {
		b = append(b, m.in(proto)...)
	}
	s.inline = nil
	return b
}

// HasInline reports whether AppendInline has anything to append.
func (s *Subscriber) HasInline() bool { return len(s.inline) > 0 }

// count returns the number of subscriptions as replies show it: shard channels
// apart from channels and patterns.
func (s *Subscriber) count(kind Kind) int64 {
	counts := s.Counts()
	if kind == ShardChannels {
		return int64(counts[ShardChannels])
	}
	return int64(counts[Channels] + counts[Patterns])
}

// names returns the topics of a kind, sorted.
func (s *Subscriber) names(kind Kind) (out []string) {
	if s.topics == nil {
		return nil
	}
	for n := range s.topics.kinds[kind].All() {
		out = append(out, n.Key())
	}
	slices.Sort(out)
	return out
}

// updateSubscribed sets what Mailbox.Subscribed reports.
func (s *Subscriber) updateSubscribed() { s.Mail.subscribed.Store(s.Counts() != [Kinds]int{}) }
