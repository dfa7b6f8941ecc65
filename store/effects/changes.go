package effects

// Flags say what a Group is to remember.
type Flags uint32

// What there is to remember: commands, changes, and events by their classes.
const (
	Logged  Flags = 1 << iota // commands, for a log
	Tracked                   // every change, for clients that keep what they have read

	// Events go to the channels of their keys, or to their own, or to both.
	KeyspaceChannels
	KeyeventChannels

	Generic
	Strings
	Lists
	Sets
	Hashes
	ZSets
	Expiries
	Evictions // nothing is evicted yet
	Misses    // of keys that are looked up to be read
	News      // of keys that come into being

	// Events is all that notifications may want.
	Events = KeyspaceChannels | KeyeventChannels |
		Generic | Strings | Lists | Sets | Hashes | ZSets | Expiries | Evictions | Misses | News
)

// An Event is what keyspace notifications call a change, in Redis' words. The
// zero Event is none.
type Event struct {
	Name  string
	Class Flags // one of the classes
}

// The events that no command names, because many may cause them.
var (
	Del     = Event{"del", Generic}
	expired = Event{"expired", Expiries}
	created = Event{"new", News}
	missed  = Event{"keymiss", Misses}
)

// A Kind is what happened to a key or to a database.
type Kind uint8

// The kinds of changes.
const (
	Changed  Kind = iota // a key has another value or deadline, or is there now
	Deleted              // a key is gone
	Moved                // a key is gone, and what it held is another key's
	Replaced             // a key is gone, and the same command makes it anew
	Expired              // a key is gone, for its deadline had passed
	Flushed              // every key of a database is gone
	Swapped              // two databases have each other's keys
	Noted                // there is an Event to tell of, and no more
)

// OfKey reports whether what somebody has read of one key may be true no longer.
func (k Kind) OfKey() bool { return k <= Expired }

// A Change is one thing that happened to the keyspace. Group.Key returns the key.
type Change struct {
	Kind  Kind
	DB    int
	Other int   // Swapped: the other database
	Event Event // what to call it; none where nobody is told

	start, end int // of the key, in keys
}

// Want makes g remember what flags say, and nothing else; what it has remembered
// stays. The zero Group remembers commands only.
func (g *Group) Want(flags Flags) {
	g.wanted, g.unlogged = flags, flags&Logged == 0
}

// Wanted returns what was last wanted.
func (g *Group) Wanted() Flags { return g.wanted }

// Changes returns what happened since Reset, in order, where that is remembered.
// A key that changes twice is there twice. The slice is good until the next call
// of another method.
func (g *Group) Changes() []Change { return g.changes }

// Key returns the key of a change, as long as Changes is good.
func (g *Group) Key(c *Change) []byte { return g.keys[c.start:c.end] }

// As says what to call the changes from here to the end of the command, instead
// of what Enter said.
func (g *Group) As(e Event) { g.event = e }

// Unnamed reports whether events are wanted, and the command under way has no word
// for what it changes.
func (g *Group) Unnamed() bool { return g.wanted&Events != 0 && g.event.Class == 0 }

// ChangedKey says that a key has changed, which some command has to account for.
func (g *Group) ChangedKey(kind Kind, db int, key string) {
	g.changed = true
	var e Event
	switch kind {
	case Changed:
		e = g.event
	case Deleted:
		e = Del
	}
	if g.wanted&(Tracked|e.Class) != 0 {
		g.keys = append(g.keys, key...)
		g.remember(kind, db, e, len(key))
	}
}

// Expired says that a key was found past its deadline, and adds what that leaves.
// It accounts for that only: who found it has still to say what it did.
func (g *Group) Expired(db int, key string) {
	g.begin(db, 2)
	g.Text("DEL")
	g.Text(key)
	if g.wanted&(Tracked|Expiries) != 0 {
		g.keys = append(g.keys, key...)
		g.remember(Expired, db, expired, len(key))
	}
}

// Note adds an event that is no change of its own: one that was made is to be
// called by two names, or by another.
func (g *Group) Note(db int, e Event, key []byte) {
	if g.wanted&e.Class != 0 {
		g.keys = append(g.keys, key...)
		g.remember(Noted, db, e, len(key))
	}
}

// Emptied notes what the command under way calls its change of a key that has lost
// its last element by it. That the key is gone is another matter.
func (g *Group) Emptied(db int, key string) {
	if g.wanted&g.event.Class != 0 {
		g.keys = append(g.keys, key...)
		g.remember(Noted, db, g.event, len(key))
	}
}

// Created notes that a key has come into being. What it holds is another matter,
// of which ChangedKey tells.
func (g *Group) Created(db int, key string) {
	if g.wanted&News != 0 {
		g.keys = append(g.keys, key...)
		g.remember(Noted, db, created, len(key))
	}
}

// Missed notes that a key was looked up to be read, and is not there.
func (g *Group) Missed(db int, key []byte) { g.Note(db, missed, key) }

// remember adds a change of the key with which keys ends.
func (g *Group) remember(kind Kind, db int, e Event, size int) {
	end := len(g.keys)
	g.changes = append(g.changes, Change{Kind: kind, DB: db, Event: e, start: end - size, end: end})
}

// ChangedDB says that a whole database has changed: Flushed, or Swapped with
// another.
func (g *Group) ChangedDB(kind Kind, db, other int) {
	g.changed = true
	if g.wanted&Tracked != 0 {
		g.changes = append(g.changes, Change{Kind: kind, DB: db, Other: other})
	}
}
