// Package effects records what commands have done to the keyspace, for later use: commands in Redis'
// vocabulary, with absolute times, as redis-server can replay them, for a log (docs/adr/0017-effects.md); and
// the names of the keys that have changed (docs/adr/0025-what-changed.md).
//
// This package is internal to zlimit: it may change in any release.
package effects

import "strconv"

// A Group is what one command, script or EXEC does to the keyspace. It is atomic: several commands are
// wrapped in MULTI and EXEC, unless Cut separates them. The zero value is ready; reusing a Group does not
// allocate. It belongs to whoever holds the shards concerned.
type Group struct {
	bytes    []byte // the commands in RESP, concatenated
	commands []command
	changes  []Change
	keys     []byte // keys of the changes, concatenated
	messages int    // how many of commands are messages

	wanted   Flags
	unlogged bool  // commands are not wanted
	event    Event // event of the current command's changes

	changed   bool // keys were changed since Enter
	accounted bool // changes since Enter are accounted for
	cut       bool // the next command begins a part
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
	*g = Group{
		bytes: g.bytes[:0], commands: g.commands[:0], changes: g.changes[:0], keys: g.keys[:0],
		wanted: g.wanted, unlogged: g.unlogged,
	}
	if cap(g.bytes) > maxRetained {
		g.bytes, g.commands = nil, nil
	}
	if cap(g.keys) > maxRetained || cap(g.changes) > maxRetained/64 {
		g.keys, g.changes = nil, nil
	}
}

// Add adds a command in database db. It copies the arguments. The change is then accounted for.
func (g *Group) Add(db int, args ...[]byte) {
	g.accounted = true
	g.add(db, args)
}

func (g *Group) add(db int, args [][]byte) {
	g.begin(db, len(args))
	for _, a := range args {
		g.Bytes(a)
	}
}

// Begin is Add for n arguments that follow one by one, through Bytes, Text and Int.
func (g *Group) Begin(db, n int) {
	g.accounted = true
	g.begin(db, n)
}

func (g *Group) begin(db, n int) {
	if g.unlogged {
		return
	}
	first := g.cut || len(g.commands) == 0
	g.commands = append(g.commands, command{start: len(g.bytes), db: db, first: first})
	g.cut = false
	g.bytes = appendHead(g.bytes, '*', n)
}

func appendHead(b []byte, kind byte, n int) []byte {
	switch {
	case n < 10:
		return append(b, kind, '0'+byte(n), '\r', '\n')
	case n < 100:
		return append(b, kind, '0'+byte(n/10), '0'+byte(n%10), '\r', '\n')
	}
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), '\r', '\n')
}

// Message adds a command that changes nothing: replicas get it between the others, a log does not.
func (g *Group) Message(args ...[]byte) {
	if g.unlogged {
		return
	}
	g.add(0, args)
	g.commands[len(g.commands)-1].message = true
	g.messages++
}

// Bytes adds an argument to the last begun command.
func (g *Group) Bytes(arg []byte) {
	if g.unlogged {
		return
	}
	g.bytes = append(append(appendHead(g.bytes, '$', len(arg)), arg...), '\r', '\n')
}

// Text is Bytes for a string.
func (g *Group) Text(arg string) {
	if g.unlogged {
		return
	}
	g.bytes = append(append(appendHead(g.bytes, '$', len(arg)), arg...), '\r', '\n')
}

// Int is Bytes for an integer.
func (g *Group) Int(arg int64) {
	var digits [20]byte
	g.Bytes(strconv.AppendInt(digits[:0], arg, 10))
}

// Separate separates what follows from what precedes: no MULTI contains both. Reclaimed keys, for example,
// are
// independent of each other.
func (g *Group) Separate() { g.cut = true }

// Changed records a change of something other than a key. A command has to account for it; see Leave.
func (g *Group) Changed() { g.changed = true }

// MarkAccounted marks the changes as accounted for, or as irrelevant for replay.
func (g *Group) MarkAccounted() { g.accounted = true }

// A Mark is the start of a command. Commands nest: EXEC and scripts run others.
type Mark struct {
	changed, accounted bool
	event              Event
}

// Enter begins a command whose changes have the event e.
func (g *Group) Enter(e Event) Mark {
	m := Mark{g.changed, g.accounted, g.event}
	g.changed, g.accounted, g.event = false, false, e
	return m
}

// Leave ends the command that began at m. If its changes are not accounted for, it is added as it was sent.
func (g *Group) Leave(m Mark, db int, args [][]byte) {
	if g.changed && !g.accounted {
		g.add(db, args)
	}
	g.changed, g.accounted, g.event = m.changed, m.accounted, m.event
}

const (
	multi = "*1\r\n$5\r\nMULTI\r\n"
	exec  = "*1\r\n$4\r\nEXEC\r\n"
)

// AppendTo appends the group, without messages, to a log in which database db is selected, or -1 for none,
// and returns the database that is selected afterwards.
func (g *Group) AppendTo(buf []byte, db int) (out []byte, selected int) {
	return g.appendTo(buf, db, false)
}

// AppendAllTo is AppendTo with messages.
func (g *Group) AppendAllTo(buf []byte, db int) (out []byte, selected int) {
	return g.appendTo(buf, db, true)
}

func (g *Group) appendTo(buf []byte, db int, messages bool) (out []byte, selected int) {
	for i := 0; i < len(g.commands); {
		end, n := i, 0
		for ; end < len(g.commands) && (end == i || !g.commands[end].first); end++ {
			if messages || !g.commands[end].message {
				n++
			}
		}
		begun := false
		for ; i < end; i++ {
			c := &g.commands[i]
			if c.message && !messages {
				continue
			}
			if !c.message && c.db != db {
				db = c.db
				buf = appendSelect(buf, db)
			}
			if n > 1 && !begun {
				buf = append(buf, multi...)
			}
			begun = true
			next := len(g.bytes)
			if i+1 < len(g.commands) {
				next = g.commands[i+1].start
			}
			buf = append(buf, g.bytes[c.start:next]...)
		}
		if n > 1 {
			buf = append(buf, exec...)
		}
	}
	return buf, db
}

func appendSelect(b []byte, db int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], int64(db), 10)
	b = append(b, "*2\r\n$6\r\nSELECT\r\n"...)
	b = appendHead(b, '$', len(text))
	return append(append(b, text...), '\r', '\n')
}
