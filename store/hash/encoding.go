package hash

// NoteEncoding is for OBJECT ENCODING: Redis 7.0 keeps a hash in a listpack
// until something is set while it holds, or by that comes to hold, more than
// maxEntries fields (hash-max-listpack-entries), or a field or value longer
// than maxValue bytes is set (hash-max-listpack-value), and then in a hashtable
// for good. Call it after each command that may have set something; without
// that it does nothing.
func (h *Hash) NoteEncoding(maxEntries, maxValue int64) {
	if h.flags&flagSet == 0 {
		return
	}
	if int64(h.Len()) > maxEntries || int64(h.longest) > maxValue {
		h.flags |= flagHashtable
	}
	h.flags &^= flagSet
	h.longest = 0
}

// IsListpack reports whether Redis would still keep the hash in a listpack,
// going by the calls of NoteEncoding so far; a new hash is one.
func (h *Hash) IsListpack() bool { return h.flags&flagHashtable == 0 }
