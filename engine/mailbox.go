package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A mailbox holds what was published for a session, and what it is told of keys
// that have changed, until its connection sends it. Any goroutine puts letters in, encoded and without waiting for anybody;
// the session's own takes all of them at once. What a session's own commands
// publish and confirm goes through it as well, so that there is one order.
type mailbox struct {
	full    atomic.Bool // something is in it: what take asks before it locks
	open    atomic.Bool // something may come: the session subscribes or tracks, or others redirect to it
	listens atomic.Bool // the session has subscribed to something
	deaf    atomic.Bool // the session has gone from who listens, see goneSubscribers

	told bool // it is in pubsub's told; protected by that one's mu

	mu    sync.Mutex
	bytes []byte // protected by mu, as is what follows
	ready int    // how many of them may be taken: what is behind is of a command that has not ended
	proto int    // in which letters are to be encoded; only take changes it
	over  int    // bytes that were waiting when the limit was broken; 0: it was not

	all     *atomic.Int64 // what the mailboxes of all sessions take
	counted int           // what of it is this one's; protected by mu
}

// count follows the space of the messages. It requires mu.
func (m *mailbox) count() {
	if size := cap(m.bytes); size != m.counted {
		m.all.Add(int64(size - m.counted))
		m.counted = size
	}
}

// discard gives the space back: nobody takes anything any more.
func (m *mailbox) discard() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes, m.ready = nil, 0
	m.over = max(m.over, 1) // nothing is put in either
	m.count()
}

// put adds a letter. It reports whether the box was empty before, so that its
// session has to be woken. Beyond the limit (0: none) everything is thrown away,
// now and later: the client is to be disconnected. A letter that is early may
// not be taken before release.
func (m *mailbox) put(l *letter, limit int64, early bool) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := l.in(m.proto)
	if m.over > 0 || len(b) == 0 {
		return false
	}
	if m.exceeds(len(b), limit) {
		return !m.full.Swap(true)
	}
	early = early || m.ready < len(m.bytes)
	m.bytes = append(m.bytes, b...)
	m.count()
	if early {
		return false
	}
	m.ready = len(m.bytes)
	return !m.full.Swap(true)
}

// insert is put for a letter of a command that has ended, and has no order with
// those that may not be taken yet: it goes before them.
func (m *mailbox) insert(l *letter, limit int64) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := l.in(m.proto)
	if m.over > 0 || len(b) == 0 {
		return false
	}
	if !m.exceeds(len(b), limit) {
		m.bytes = slices.Insert(m.bytes, m.ready, b...)
		m.ready += len(b)
		m.count()
	}
	return !m.full.Swap(true)
}

// exceeds reports whether n more bytes break the limit, and has then thrown
// everything away. It requires mu.
func (m *mailbox) exceeds(n int, limit int64) bool {
	waiting := len(m.bytes) + n
	if limit <= 0 || int64(waiting) < limit {
		return false
	}
	m.over, m.bytes, m.ready = waiting, nil, 0
	m.count()
	return true
}

// release lets what is in the box be taken. What it reports is as with put.
func (m *mailbox) release() (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready = len(m.bytes)
	return m.ready > 0 && !m.full.Swap(true)
}

// keptMail is the space that a mailbox keeps when it is empty.
const keptMail = 64 << 10

// take moves what is in the box to the end of dst. What is put in from now on
// will be in the given protocol.
func (m *mailbox) take(dst []byte, proto int) []byte {
	if !m.full.Load() && m.proto == proto {
		return dst
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.bytes[:m.ready]...)
	m.bytes = append(m.bytes[:0], m.bytes[m.ready:]...)
	m.ready = 0
	if len(m.bytes) == 0 && cap(m.bytes) > keptMail {
		m.bytes = nil
	}
	m.count()
	m.proto = proto
	m.full.Store(m.over > 0)
	return dst
}

// overflow is how many bytes were waiting when they broke the limit, 0 if they
// did not.
func (m *mailbox) overflow() int {
	if !m.full.Load() {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}
