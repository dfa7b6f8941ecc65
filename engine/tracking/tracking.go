package tracking

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/store/alloc"
)

// A State is the client-side caching of an engine's clients.
type State struct {
	MaxKeys  atomic.Int64 // tracking-table-max-keys; 0: any number
	prefixes prefixes
	table    table

	overLimit atomic.Int64 // commands in a row that found the table beyond its limit
	evictAt   int          // the shard at which the next Tick begins

	mu       sync.Mutex   // held while the counts change; only the lock of prefixes comes after it
	clients  atomic.Int64 // sessions that track
	trackers atomic.Int64 // sessions that track or have tracked

	broker *pubsub.Broker
	find   func(id int64) *pubsub.Subscriber
	modes  func() []*Mode
	record func(on bool)
}

// Init must be called first. find returns the client with an id, or nil. modes returns the modes of all
// clients that track, in the order of their ids. record starts or stops recording what commands change.
func (t *State) Init(
	b *pubsub.Broker, find func(id int64) *pubsub.Subscriber, modes func() []*Mode, record func(on bool),
) {
	t.broker, t.find, t.modes, t.record = b, find, modes, record
}

// Clients returns how many clients track keys.
func (t *State) Clients() int64 { return t.clients.Load() }

// Keys returns how many keys are tracked.
func (t *State) Keys() int64 { return t.table.keys.Load() }

// Items returns how many pairs of a key and a client that has read it there are.
func (t *State) Items() int64 { return t.table.items.Load() }

// Prefixes returns how many prefixes there are in BCAST mode.
func (t *State) Prefixes() int { return t.prefixes.len() }

// Invalidations returns those of changes that no client makes, until MadeBy names one.
func (t *State) Invalidations() Invalidations { return Invalidations{state: t} }

// MadeBy says which client makes the changes to come.
func (out *Invalidations) MadeBy(c *Client) { out.client = c }

// A Client is a session's own part. It belongs to the session's goroutine.
type Client struct {
	Caching bool // CLIENT CACHING was the last command, or precedes the transaction

	state      *State
	id         int64
	subscriber *pubsub.Subscriber
	reader     *reader // nil until the session first tracks
}

// Init must be called first. The id is the session's.
func (c *Client) Init(t *State, id int64, s *pubsub.Subscriber) {
	c.state, c.id, c.subscriber = t, id, s
}

// A reader stands for a session in the table. It outlives the session without
// keeping the session in memory.
type reader struct {
	id   int64
	mode atomic.Pointer[Mode] // nil: CLIENT TRACKING OFF, or the session has ended
	keys [][]byte             // the session's scratch space for those of one command
}

func compareReaders(a, b *reader) int { return int(a.id - b.id) }

// A Mode is the options of one CLIENT TRACKING ON. A nil Mode is OFF. Only broken changes.
type Mode struct {
	client        *pubsub.Subscriber
	bcast, noLoop bool
	optIn, optOut bool
	redirect      int64       // the id of the client that receives the invalidations; 0: this one
	prefixes      []string    // in order; with bcast there is at least one
	broken        atomic.Bool // an invalidation could not be redirected
}

// prefixBytes is the memory of a prefix that one client has, in a prefixSet: a list of one client, and an
// entry of a map that is two thirds full.
const prefixBytes = 8 + 64

// Bytes returns the memory that the prefixes take, names included. A prefix counts as if no other client had
// it.
func (m *Mode) Bytes() int64 {
	if m == nil || len(m.prefixes) == 0 {
		return 0
	}
	n := alloc.Pointers(cap(m.prefixes) * int(unsafe.Sizeof("")))
	for _, prefix := range m.prefixes {
		n += alloc.Bytes(len(prefix)) + prefixBytes
	}
	return n
}

// Broadcast reports whether the mode is BCAST: what the client reads does not matter.
func (m *Mode) Broadcast() bool { return m.bcast }

// Broken reports whether an invalidation could not be redirected.
func (m *Mode) Broken() bool { return m.broken.Load() }

// flags returns the mode's flags in CLIENT TRACKINGINFO.
func (m *Mode) flags(caching bool) []string {
	if m == nil {
		return []string{"off"}
	}
	out := []string{"on"}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{m.bcast, "bcast"},
		{m.optIn, "optin"},
		{m.optIn && caching, "caching-yes"},
		{m.optOut, "optout"},
		{m.optOut && caching, "caching-no"},
		{m.noLoop, "noloop"},
		{m.broken.Load(), "broken_redirect"},
	} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return out
}

// Redirection returns the reply of CLIENT GETREDIR.
func (m *Mode) Redirection() int64 {
	if m == nil {
		return -1
	}
	return m.redirect
}

// Mode returns the client's mode, nil if it does not track.
func (c *Client) Mode() *Mode {
	if c.reader == nil {
		return nil
	}
	return c.reader.mode.Load()
}

// ReadsKeys reports whether the client tracks the keys that it reads: not in BCAST mode.
func (c *Client) ReadsKeys() bool {
	mode := c.Mode()
	return mode != nil && !mode.Broadcast()
}

// Set replaces the client's mode; nil is CLIENT TRACKING OFF. It reports false if the client does not
// track and did not.
func (c *Client) Set(next *Mode) bool {
	last := c.Mode()
	if last == nil && next == nil {
		return false
	}
	t := c.state
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.reader == nil {
		c.reader = &reader{id: c.id}
		t.trackers.Add(1)
	}
	if next != nil {
		t.record(true)
		c.subscriber.Mail.Open()
	} else {
		c.Caching = false
	}
	switch {
	case last == nil:
		t.clients.Add(1)
	case next == nil:
		t.clients.Add(-1)
	}
	c.reader.mode.Store(next)
	t.prefixes.replace(last, next)
	return true
}

// Tracked reports whether the client tracks or has tracked.
func (c *Client) Tracked() bool { return c.reader != nil }

// Close is called when the session of a client that is Tracked has ended. The keys that it has read
// stay in the table until they change or are evicted, or no session is left that has tracked.
func (c *Client) Close() { c.state.trackers.Add(-1) }

// Records reports whether the keys that the next command reads are added to the table. The client must
// track.
func (c *Client) Records() bool {
	mode := c.Mode()
	return (!mode.optIn || c.Caching) && (!mode.optOut || !c.Caching)
}

// Read adds the keys of a command to the table. Their shards must be locked.
func (c *Client) Read(cmd *commands.Command, args [][]byte) {
	c.reader.keys = cmd.AppendKeys(c.reader.keys[:0], args)
	for _, key := range c.reader.keys {
		c.state.table.add(key, c.reader)
	}
	clear(c.reader.keys)
}
