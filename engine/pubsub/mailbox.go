package pubsub

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/resp"
)

// A Mailbox holds encoded messages for a session until its connection sends
// them. Any goroutine may put messages in, without waiting; the session's own
// goroutine drains it. What a session publishes to itself goes through its
// mailbox too, so that there is one order.
type Mailbox struct {
	ready      atomic.Bool // there is something to drain: asked before locking
	open       atomic.Bool // see Open
	subscribed atomic.Bool // the session has subscriptions
	detached   atomic.Bool // subscriptions have ended, but the Broker still lists them: see departed

	mu       sync.Mutex
	bytes    []byte // protected by mu, as are the fields below
	released int    // how many of bytes may be drained: a command that runs still has put the rest
	proto    int    // of the encoding; only Drain changes it
	overflow int    // bytes that were waiting when the limit was exceeded; 0: it was not

	total   *atomic.Int64 // bytes of the mailboxes of all sessions
	counted int           // of them, this mailbox's
}

// Init prepares a mailbox whose size is added to total. It encodes in RESP2 until
// Drain is asked for another protocol.
func (m *Mailbox) Init(total *atomic.Int64) { m.proto, m.total = resp.RESP2, total }

// Open says that messages may come from now on. Replies of blocked commands then
// take their place among them.
func (m *Mailbox) Open() { m.open.Store(true) }

// IsOpen reports whether Open was called.
func (m *Mailbox) IsOpen() bool { return m.open.Load() }

// Ready reports whether there is something to drain.
func (m *Mailbox) Ready() bool { return m.ready.Load() }

// Subscribed reports whether the session has subscriptions.
func (m *Mailbox) Subscribed() bool { return m.subscribed.Load() }

// count follows the capacity of bytes. It requires mu.
func (m *Mailbox) count() {
	if size := cap(m.bytes); size != m.counted {
		m.total.Add(int64(size - m.counted))
		m.counted = size
	}
}

// Size returns the capacity of the mailbox in bytes.
func (m *Mailbox) Size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(m.counted)
}

// Close frees the mailbox. Messages that come later are dropped.
func (m *Mailbox) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes, m.released = nil, 0
	m.overflow = max(m.overflow, 1)
	m.count()
}

// Put appends a message. It reports whether there was nothing to drain before, so
// that the session must be woken. If the mailbox exceeds limit bytes (0: no
// limit), its contents and all later messages are dropped: the client is to be
// disconnected.
func (m *Mailbox) Put(msg *Message, limit int64) (wake bool) { return m.put(msg, limit, false) }

// put is Put. A message that is held, and those behind it, may be drained only
// after release.
func (m *Mailbox) put(msg *Message, limit int64, held bool) (wake bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := msg.in(m.proto)
	if m.overflow > 0 || len(b) == 0 {
		return false
	}
	if m.exceeds(len(b), limit) {
		return !m.ready.Swap(true)
	}
	held = held || m.released < len(m.bytes)
	m.bytes = append(m.bytes, b...)
	m.count()
	if held {
		return false
	}
	m.released = len(m.bytes)
	return !m.ready.Swap(true)
}

// Insert is Put for a message of a command that has ended, before the messages
// that are held: it has no order with those.
func (m *Mailbox) Insert(msg *Message, limit int64) (wake bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := msg.in(m.proto)
	if m.overflow > 0 || len(b) == 0 {
		return false
	}
	if !m.exceeds(len(b), limit) {
		m.bytes = slices.Insert(m.bytes, m.released, b...)
		m.released += len(b)
		m.count()
	}
	return !m.ready.Swap(true)
}

// exceeds reports whether n more bytes exceed the limit; if they do, it drops the
// contents. It requires mu.
func (m *Mailbox) exceeds(n int, limit int64) bool {
	size := len(m.bytes) + n
	if limit <= 0 || int64(size) < limit {
		return false
	}
	m.overflow, m.bytes, m.released = size, nil, 0
	m.count()
	return true
}

// release lets all messages be drained. It reports what Put does.
func (m *Mailbox) release() (wake bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.released = len(m.bytes)
	return m.released > 0 && !m.ready.Swap(true)
}

// MaxIdleBytes is the capacity that an empty buffer of messages keeps.
const MaxIdleBytes = 64 << 10

// Stale reports whether Drain in a protocol has anything to do.
func (m *Mailbox) Stale(proto int) bool { return m.ready.Load() || m.proto != proto }

// Drain moves the messages to the end of dst. Later ones are encoded in proto.
func (m *Mailbox) Drain(dst []byte, proto int) []byte {
	if !m.Stale(proto) {
		return dst
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.bytes[:m.released]...)
	m.bytes = append(m.bytes[:0], m.bytes[m.released:]...)
	m.released = 0
	if len(m.bytes) == 0 && cap(m.bytes) > MaxIdleBytes {
		m.bytes = nil
	}
	m.count()
	m.proto = proto
	m.ready.Store(m.overflow > 0)
	return dst
}

// Overflow returns how many bytes were waiting when they exceeded the limit, 0 if
// they did not.
func (m *Mailbox) Overflow() int {
	if !m.ready.Load() {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.overflow
}
