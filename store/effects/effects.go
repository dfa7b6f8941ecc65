// Package effects holds what commands have done to the keyspace until others
// hear of it: commands in Redis' vocabulary, with absolute times, in the form in
// which redis-server reads them back, for a log (docs/adr/0017-effects.md); and
// the keys that have changed, by name (docs/adr/0025-what-changed.md).
package effects

import "strconv"

// A Group is what one command, script or EXEC does to the keyspace. It is
// whole or it is nothing: what is more than one command goes between MULTI and
// EXEC, unless Cut says that the parts stand for themselves. The zero value is
// ready; a Group that is reused allocates nothing. It belongs to whoever holds
// the shards that it is about.
type Group struct {
	bytes    []byte // the commands in RESP, one behind the other
	commands []command
	changes  []Change
	keys     []byte // of the changes, one behind the other

	wanted   Flags
	unlogged bool  // commands are not wanted
	event    Event // what the command under way calls a change

	changed bool // keys were changed since Enter
	told    bool // and the handler has said itself what was done
	cut     bool // the next command begins a part
}

type command struct {
	start int // where it begins in bytes; it ends where the next one begins
	db    int
	first bool // of a part
}

// Len is the number of commands.
func (g *Group) Len() int { return len(g.commands) }

// keep is how many bytes a Group keeps for the next: what one huge command
// needed is given back.
const keep = 64 << 10

// Reset empties the group.
func (g *Group) Reset() {
	*g = Group{
		bytes: g.bytes[:0], commands: g.commands[:0], changes: g.changes[:0], keys: g.keys[:0],
		wanted: g.wanted, unlogged: g.unlogged,
	}
	if cap(g.bytes) > keep {
		g.bytes, g.commands = nil, nil
	}
	if cap(g.keys) > keep || cap(g.changes) > keep/64 {
		g.keys, g.changes = nil, nil
	}
}

// Add adds a command to be run in database db, and copies its arguments.
func (g *Group) Add(db int, args ...[]byte) {
	g.told = true
	g.add(db, args)
}

func (g *Group) add(db int, args [][]byte) {
	g.begin(db, len(args))
	for _, a := range args {
		g.Bytes(a)
	}
}

// Begin is Add for arguments that follow one by one: n of them, by Bytes, Text
// and Int.
func (g *Group) Begin(db, n int) {
	g.told = true
	g.begin(db, n)
}

func (g *Group) begin(db, n int) {
	if g.unlogged {
		return
	}
	g.commands = append(g.commands, command{start: len(g.bytes), db: db, first: g.cut || len(g.commands) == 0})
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

// Bytes adds an argument to the command that was begun last.
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

// Cut says that what follows stands for itself: no MULTI holds it together with
// what was before. Keys that are reclaimed have nothing to do with each other.
func (g *Group) Cut() { g.cut = true }

// Changed says that something has changed that is no key, which some command has
// to account for.
func (g *Group) Changed() { g.changed = true }

// Told says that what has changed is accounted for, or that replaying it would
// change nothing.
func (g *Group) Told() { g.told = true }

// A Mark is where a command began. Commands nest: EXEC and scripts run others.
type Mark struct {
	changed, told bool
	event         Event
}

// Enter begins a command, whose changes are called e.
func (g *Group) Enter(e Event) Mark {
	m := Mark{g.changed, g.told, g.event}
	g.changed, g.told, g.event = false, false, e
	return m
}

// Leave ends the command that began at m. One that has changed keys and has not
// said how is added as it was sent.
func (g *Group) Leave(m Mark, db int, args [][]byte) {
	if g.changed && !g.told {
		g.add(db, args)
	}
	g.changed, g.told, g.event = m.changed, m.told, m.event
}

const (
	multi = "*1\r\n$5\r\nMULTI\r\n"
	exec  = "*1\r\n$4\r\nEXEC\r\n"
)

// AppendTo appends the group to a log in which database db is selected, -1 for
// none yet, and returns which is then.
func (g *Group) AppendTo(buf []byte, db int) (out []byte, selected int) {
	for i := 0; i < len(g.commands); {
		end := i + 1
		for end < len(g.commands) && !g.commands[end].first {
			end++
		}
		whole := end-i > 1
		for ; i < end; i++ {
			c := &g.commands[i]
			if c.db != db {
				db = c.db
				buf = appendSelect(buf, db)
			}
			if whole && c.first {
				buf = append(buf, multi...)
			}
			next := len(g.bytes)
			if i+1 < len(g.commands) {
				next = g.commands[i+1].start
			}
			buf = append(buf, g.bytes[c.start:next]...)
		}
		if whole {
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
