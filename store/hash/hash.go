// Package hash is the value of a hash key: fields with values, both byte
// strings, that keep the order in which their fields came.
//
// It knows no arguments, no replies and no keyspace, has no lock, and does not
// interpret values: that 10 is a number is the caller's business.
//
// # Structure
//
// A small hash is one string of bytes with the fields in order, searched from
// its start, which is what a limiter's two or three fields want: two
// allocations whatever it holds, and writing over a value allocates only where
// the bytes outgrow their room. Beyond smallFields or smallBytes it becomes a
// store/dict with the nodes chained in order, and stays one: one lookup, one
// node for each field.
//
// Redis keeps the order only in its small encoding (listpack) and gives it up
// in the large one (hashtable). Here it holds in both, because clients read
// HGETALL by position. Which encoding Redis would have is bookkeeping apart:
// see NoteEncoding.
package hash

// Hash maps fields to values. The zero value is empty and ready, and owns no
// memory. It must not be copied once used and is not safe for concurrent use;
// Len, Get, All and Random may run beside each other.
//
// Slices that methods hand out belong to the hash: they are good until it
// changes, and are not to be written to.
type Hash struct {
	small   packed
	large   *table // nil while small
	longest uint32 // longest field or value set since NoteEncoding looked
	flags   uint8
}

const (
	flagSet       = 1 << iota // something was set since NoteEncoding looked
	flagHashtable             // Redis would have given the listpack up
)

// A hash of more than smallFields fields or smallBytes bytes is a table. At 64
// fields a search through all of them costs about three lookups in a table, at
// less than half the memory.
const (
	smallFields = 64
	smallBytes  = 4096
)

// Len returns the number of fields.
func (h *Hash) Len() int {
	if h.large != nil {
		return h.large.fields.Len()
	}
	return int(h.small.n)
}

// Get returns the value of field.
func (h *Hash) Get(field []byte) (value []byte, ok bool) {
	if h.large != nil {
		return h.large.get(field)
	}
	return h.small.get(field)
}

// Set gives field a value and reports whether the field is new: then it is the
// last in order, and otherwise stays where it is. Both are copied.
func (h *Hash) Set(field, value []byte) (added bool) {
	h.flags |= flagSet
	h.longest = max(h.longest, saturated(len(field)), saturated(len(value)))
	if h.large == nil {
		added, room := h.small.set(field, value)
		if room {
			return added
		}
		h.grow()
	}
	return h.large.set(field, value)
}

func saturated(n int) uint32 { return uint32(min(uint64(n), 1<<32-1)) }

// Delete takes a field out and reports whether it was there.
func (h *Hash) Delete(field []byte) bool {
	if h.large != nil {
		return h.large.remove(field)
	}
	return h.small.remove(field)
}

// All calls fn with the fields in order until it returns false. fn must not
// change the hash.
func (h *Hash) All(fn func(field, value []byte) bool) {
	if h.large != nil {
		h.large.all(fn)
		return
	}
	h.small.all(fn)
}

// Random returns a field, each with the same probability (in a large hash as
// far as store/dict's Random goes), and its value. The hash must not be empty.
// rnd(n) must return a uniform number below n.
func (h *Hash) Random(rnd func(n uint64) uint64) (field, value []byte) {
	if h.large != nil {
		n := h.large.fields.Random(rnd)
		return bytesOf(n.Key()), n.Value.text
	}
	return h.small.at(int(rnd(uint64(h.small.n))))
}

// Scan hands out a part of the hash and returns the cursor to go on with, 0
// when it is through; it begins with cursor 0. A field that is there from the
// first call to the last is handed out at least once, whatever comes and goes
// in between and however the hash grows or shrinks; one may come more than
// once. Any cursor is safe to ask with. fn must not change the hash.
//
// What Redis would keep in a listpack comes whole in one call, in order, as it
// does there; so does a small hash.
func (h *Hash) Scan(cursor uint64, fn func(field, value []byte)) (next uint64) {
	if h.large == nil || h.IsListpack() {
		h.All(func(field, value []byte) bool {
			fn(field, value)
			return true
		})
		return 0
	}
	return h.large.fields.Scan(cursor, func(n *node) { fn(bytesOf(n.Key()), n.Value.text) })
}

// Clone returns a copy that shares nothing with h.
func (h *Hash) Clone() *Hash {
	out := &Hash{longest: h.longest, flags: h.flags}
	if h.large != nil {
		out.large = h.large.clone()
		return out
	}
	out.small = h.small.clone()
	return out
}

// grow moves the fields from the small form into the large one.
func (h *Hash) grow() {
	t := &table{}
	h.small.all(func(field, value []byte) bool {
		t.set(field, value)
		return true
	})
	h.small, h.large = packed{}, t
}
