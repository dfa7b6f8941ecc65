package effects

// Flags select what a Group records.
type Flags uint32

// What a Group can record: commands, changes, and events by their classes.
const (
	Logged  Flags = 1 << iota // commands, for a log
	Tracked                   // every change, for client-side caching

	// Events go to the channels of their keys, to their own channels, or to both.
	KeyspaceChannels
	KeyeventChannels

	Generic
	Strings
	Lists
	Sets
	Hashes
	ZSets
	Expiries
	Evictions // keys that are removed to make room
	Misses    // of keys that are looked up for reading
	NewKeys   // keys that are created

	// Events is everything that notifications may need.
	Events = KeyspaceChannels | KeyeventChannels |
		Generic | Strings | Lists | Sets | Hashes | ZSets | Expiries | Evictions | Misses | NewKeys
)

// An Event is the name of a change in keyspace notifications. The zero Event is none.
type Event struct {
	Name  string
	Class Flags // one of the classes
}

// Events that the store itself causes, in any command.
var (
	Del     = Event{"del", Generic}
	expired = Event{"expired", Expiries}
	evicted = Event{"evicted", Evictions}
	created = Event{"new", NewKeys}
	missed  = Event{"keymiss", Misses}
)

// A Kind is a kind of change of a key or a database.
type Kind uint8

// The kinds of changes.
const (
	Changed   Kind = iota // a key was created or has another value or deadline
	Deleted               // a key was deleted
	Moved                 // a key was deleted because its value was moved to another key
	Replaced              // a key was deleted, and the same command creates it again
	Expired               // a key was deleted because its deadline had passed
	Evicted               // a key was deleted to make room
	Flushed               // every key of a database was deleted
	Swapped               // two databases were swapped
	EventOnly             // no change, only an Event
)

// OfKey reports whether the change invalidates what a client has read of one key.
func (k Kind) OfKey() bool { return k <= Evicted }

// A Change is one change of the keyspace. Group.Key returns the key.
type Change struct {
	Kind  Kind
	DB    int
	Other int   // Swapped: the other database
	Event Event // none: no notification

	start, end int // the key's position in keys
}

// Want sets what g records. It keeps what is already recorded. The zero Group records commands only.
func (g *Group) Want(flags Flags) {
	g.wanted, g.unlogged = flags, flags&Logged == 0
}

// Wanted returns the flags of the last Want.
func (g *Group) Wanted() Flags { return g.wanted }

// Changes returns the recorded changes since Reset, in order. A key that changes twice is listed twice. The
// slice is valid until the next call of another method.
func (g *Group) Changes() []Change { return g.changes }

// Key returns the key of a change while Changes is valid.
func (g *Group) Key(c *Change) []byte { return g.keys[c.start:c.end] }

// SetEvent sets the event of the changes from here to the end of the command, replacing that of Enter.
func (g *Group) SetEvent(e Event) { g.current.event = e }

// LacksEvent reports whether events are wanted and the current command has no event for its changes.
func (g *Group) LacksEvent() bool { return g.wanted&Events != 0 && g.current.event.Class == 0 }

// ChangedKey records that a key has changed. A command has to account for it; see Leave.
func (g *Group) ChangedKey(kind Kind, db int, key string) {
	g.current.changed = true
	var e Event
	switch kind {
	case Changed:
		e = g.current.event
	case Deleted:
		e = Del
	}
	if g.wanted&(Tracked|e.Class) != 0 {
		g.keys = append(g.keys, key...)
		g.addChange(kind, db, e, len(key))
	}
}

var delHead = NewHead(2, "DEL")

// Expired records that a key was found expired, and adds the DEL that results. It accounts for the DEL only,
// not for what the current command does.
func (g *Group) Expired(db int, key string) { g.removed(Expired, expired, db, key) }

// Evicted is Expired for a key that is removed to make room.
func (g *Group) Evicted(db int, key string) { g.removed(Evicted, evicted, db, key) }

func (g *Group) removed(kind Kind, e Event, db int, key string) {
	if g.begin(db) {
		g.bytes = appendBulk(append(g.bytes, delHead...), key)
	}
	if g.wanted&(Tracked|e.Class) != 0 {
		g.keys = append(g.keys, key...)
		g.addChange(kind, db, e, len(key))
	}
}

// Note records an event without a change: a second or another event for a recorded change.
func (g *Group) Note(db int, e Event, key []byte) {
	if g.wanted&e.Class != 0 {
		g.keys = append(g.keys, key...)
		g.addChange(EventOnly, db, e, len(key))
	}
}

// Emptied records the current command's event for a key that has lost its last element. The deletion of the
// key is recorded separately.
func (g *Group) Emptied(db int, key string) {
	if g.wanted&g.current.event.Class != 0 {
		g.keys = append(g.keys, key...)
		g.addChange(EventOnly, db, g.current.event, len(key))
	}
}

// Created records that a key was created. ChangedKey records its value.
func (g *Group) Created(db int, key string) {
	if g.wanted&NewKeys != 0 {
		g.keys = append(g.keys, key...)
		g.addChange(EventOnly, db, created, len(key))
	}
}

// Missed records that a key was looked up for reading and does not exist.
func (g *Group) Missed(db int, key []byte) { g.Note(db, missed, key) }

// addChange records a change of the key at the end of keys, size bytes long.
func (g *Group) addChange(kind Kind, db int, e Event, size int) {
	end := len(g.keys)
	g.changes = append(g.changes, Change{Kind: kind, DB: db, Event: e, start: end - size, end: end})
}

// ChangedDB records that a whole database was Flushed, or Swapped with another.
func (g *Group) ChangedDB(kind Kind, db, other int) {
	g.current.changed = true
	if g.wanted&Tracked != 0 {
		g.changes = append(g.changes, Change{Kind: kind, DB: db, Other: other})
	}
}
