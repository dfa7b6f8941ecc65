package effects

// A Kind says how a key has changed.
type Kind uint8

// How keys change.
const (
	Modified Kind = iota // by a command: written, deleted, given another deadline
	Expired              // found past its deadline, and removed
	Flushed              // with all of its database: there is no key, only the database
)

// A Change is a key that has changed.
type Change struct {
	DB   int
	Key  []byte // good until Reset
	Kind Kind
}

// names are the keys that have changed, in order and as often as they did.
type names struct {
	wanted  bool
	bytes   []byte // of all keys, one behind the other
	changes []namedChange
}

type namedChange struct {
	db   int
	end  int // in bytes: of the key that begins where the one before ends
	kind Kind
}

// Name makes the group remember which keys change, until Reset.
func (g *Group) Name() { g.names.wanted = true }

// Names returns how many changes the group remembers.
func (g *Group) Names() int { return len(g.names.changes) }

// Change returns the i-th of them.
func (g *Group) Change(i int) Change {
	c, start := g.names.changes[i], 0
	if i > 0 {
		start = g.names.changes[i-1].end
	}
	return Change{c.db, g.names.bytes[start:c.end:c.end], c.kind}
}

// Named says that a key has changed, for who wants to know which.
func (g *Group) Named(db int, key string, kind Kind) {
	if n := &g.names; n.wanted {
		n.bytes = append(n.bytes, key...)
		n.changes = append(n.changes, namedChange{db, len(n.bytes), kind})
	}
}

// reset keeps the room, unless one huge command needed it.
func (n *names) reset() {
	*n = names{bytes: n.bytes[:0], changes: n.changes[:0]}
	if cap(n.bytes) > keep || cap(n.changes) > keep/32 {
		*n = names{}
	}
}
