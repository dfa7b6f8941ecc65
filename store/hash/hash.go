// Package hash implements the value of a hash key: fields with values, both byte strings, in order of
// insertion.
//
// It knows no arguments, replies or keyspace, has no lock, and does not interpret values.
//
// # Structure
//
// A small hash is one byte string with the fields in order, searched from its start. That suits a limiter's
// two or three fields: two allocations in total, and overwriting a value allocates only if the string
// outgrows its capacity. Beyond smallFields or smallBytes the hash becomes a store/dict for good, with its
// nodes linked in order: one lookup, one node for each field.
//
// Redis keeps the order only in its small encoding (listpack), not in the large one (hashtable). Here it is
// kept in both, because clients read HGETALL by position. The encoding that Redis would have is recorded
// separately: see NoteEncoding.
//
// This package is internal to zlimit: it may change in any release.
package hash

// A Hash maps fields to values. The zero value is empty and ready, and owns no memory. It must not be copied
// after first use and is not safe for concurrent use; Len, Get, All and Random may run concurrently with each
// other.
//
// Slices that methods return or pass to functions belong to the hash: they are valid until it changes, and
// must not be modified.
type Hash struct {
	small   packed
	large   *table // nil while small
	longest uint32 // longest field or value set since the last NoteEncoding
	flags   uint8
}

const (
	flagSet       = 1 << iota // something was set since the last NoteEncoding
	flagHashtable             // Redis would have converted the listpack
)

// A hash of more than smallFields fields or smallBytes bytes is a table. At 64 fields a search costs about
// three table lookups, at less than half the memory.
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

// Set sets field to value and reports whether the field is new. A new field becomes the last one; an existing
// field keeps its position. Both are copied.
func (h *Hash) Set(field, value []byte) (added bool) {
	h.flags |= flagSet
	h.longest = max(h.longest, saturated(len(field)), saturated(len(value)))
	if h.large == nil {
		added, fits := h.small.set(field, value)
		if fits {
			return added
		}
		h.convertToTable()
	}
	return h.large.set(field, value)
}

func saturated(n int) uint32 { return uint32(min(uint64(n), 1<<32-1)) }

// Delete removes a field and reports whether it existed.
func (h *Hash) Delete(field []byte) bool {
	if h.large != nil {
		return h.large.remove(field)
	}
	return h.small.remove(field)
}

// All calls fn with the fields in order until fn returns false. fn must not change the hash.
func (h *Hash) All(fn func(field, value []byte) bool) {
	if h.large != nil {
		h.large.all(fn)
		return
	}
	h.small.all(fn)
}

// Random returns a field and its value, each with the same probability (in a large hash within the limits of
// dict.Dict.Random). The hash must not be empty. rnd(n) must return a uniform number below n.
func (h *Hash) Random(rnd func(n uint64) uint64) (field, value []byte) {
	if h.large != nil {
		n := h.large.fields.Random(rnd)
		return bytesOf(n.Key()), n.Value.text
	}
	return h.small.at(int(rnd(uint64(h.small.n))))
}

// Scan calls fn with part of the hash and returns the cursor of the next call; a scan starts and ends at 0. A
// field that is in the hash during the whole scan is seen at least once, however the hash grows or shrinks; a
// field may be seen more than once. Any cursor is valid. fn must not change the hash.
//
// A hash that Redis would store as a listpack is scanned in one call, in order, as in Redis; so is a small
// hash.
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

// Clone returns a deep copy.
func (h *Hash) Clone() *Hash {
	out := &Hash{longest: h.longest, flags: h.flags}
	if h.large != nil {
		out.large = h.large.clone()
		return out
	}
	out.small = h.small.clone()
	return out
}

// convertToTable moves the fields from small to large.
func (h *Hash) convertToTable() {
	t := &table{}
	h.small.all(func(field, value []byte) bool {
		t.set(field, value)
		return true
	})
	h.small, h.large = packed{}, t
}
