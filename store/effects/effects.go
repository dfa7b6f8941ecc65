// Package effects records what commands have done to the keyspace, for later use: commands in Redis'
// vocabulary, with absolute times, as redis-server can replay them, for a log (docs/adr/0017-effects.md); and
// the names of the keys that have changed (docs/adr/0025-what-changed.md).
//
// This package is internal to zlimit: it may change in any release.
package effects

// A Group is what one command, script or EXEC does to the keyspace. It is atomic: several commands are
// wrapped in MULTI and EXEC, unless Cut separates them. The zero value is ready; reusing a Group does not
// allocate. It belongs to whoever holds the shards concerned.
type Group struct {
	bytes    []byte // the commands in RESP, concatenated
	commands []command
	changes  []Change
	keys     []byte // keys of the changes, concatenated
	messages int    // how many of commands are messages
	mixed    bool   // commands are of several databases
	parts    int    // how many of commands are the first of a part

	wanted   Flags
	unlogged bool // commands are not wanted
	current  Mark
	cut      bool // the next command begins a part
}

type command struct {
	start   int  // offset in bytes; the command ends where the next one starts
	db      int  // without meaning for a message
	first   bool // of a part
	message bool // see Message
}

// Len returns the number of commands, without messages.
func (g *Group) Len() int { return len(g.commands) - g.messages }

// Messages returns the number of messages.
func (g *Group) Messages() int { return g.messages }

// maxRetained is the capacity that Reset keeps: memory that one huge command needed is released.
const maxRetained = 64 << 10

// Reset empties the group.
func (g *Group) Reset() {
	g.bytes, g.commands, g.changes, g.keys = g.bytes[:0], g.commands[:0], g.changes[:0], g.keys[:0]
	g.messages, g.mixed, g.parts, g.cut, g.current = 0, false, 0, false, Mark{}
	if cap(g.bytes) > maxRetained {
		g.bytes, g.commands = nil, nil
	}
	if cap(g.keys) > maxRetained || cap(g.changes) > maxRetained/64 {
		g.keys, g.changes = nil, nil
	}
}

// Add adds a command in database db. It copies the arguments. The change is then accounted for.
func (g *Group) Add(db int, args ...[]byte) {
	g.current.accounted = true
	g.add(db, args)
}

func (g *Group) add(db int, args [][]byte) {
	if !g.begin(db) {
		return
	}
	b := appendHead(g.bytes, '*', len(args))
	for _, a := range args {
		b = appendBulk(b, a)
	}
	g.bytes = b
}

// Begin is Add for n arguments that follow one by one, through Bytes, Text and Int.
func (g *Group) Begin(db, n int) {
	g.current.accounted = true
	if g.begin(db) {
		g.bytes = appendHead(g.bytes, '*', n)
	}
}

// Start is Begin for a command whose first words are head and key.
func (g *Group) Start(db int, head Head, key []byte) {
	g.current.accounted = true
	if g.begin(db) {
		g.bytes = appendBulk(append(g.bytes, head...), key)
	}
}

// begin adds a command without words. It reports false if commands are not wanted.
func (g *Group) begin(db int) bool {
	if g.unlogged {
		return false
	}
	first := g.cut || len(g.commands) == 0
	if first {
		g.parts++
	}
	if len(g.commands) > 0 && g.commands[0].db != db {
		g.mixed = true
	}
	g.commands = append(g.commands, command{start: len(g.bytes), db: db, first: first})
	g.cut = false
	return true
}

// Message adds a command in database db that changes nothing: replicas get it between the others, a log does
// not.
func (g *Group) Message(db int, args ...[]byte) {
	if g.unlogged {
		return
	}
	g.add(db, args)
	g.commands[len(g.commands)-1].message = true
	g.messages++
}

// Separate separates what follows from what precedes: no MULTI contains both. Reclaimed keys, for example,
// are independent of each other.
func (g *Group) Separate() { g.cut = true }

// Changed records a change of something other than a key. A command has to account for it; see Leave.
func (g *Group) Changed() { g.current.changed = true }

// MarkAccounted marks the changes as accounted for, or as irrelevant for replay.
func (g *Group) MarkAccounted() { g.current.accounted = true }

// A Mark says what a command has changed so far. Commands nest: EXEC and scripts run others.
type Mark struct {
	changed   bool  // keys were changed since Enter
	accounted bool  // the changes are accounted for
	event     Event // of the changes
}

// Enter begins a command whose changes have the event e, and returns the mark of the one around it.
func (g *Group) Enter(e Event) Mark {
	m := g.current
	g.current = Mark{event: e}
	return m
}

// Leave ends the command whose Enter returned m. If its changes are not accounted for, it is added as it was
// sent.
func (g *Group) Leave(m Mark, db int, args [][]byte) {
	if g.current.changed && !g.current.accounted {
		g.add(db, args)
	}
	g.current = m
}
