package hash

// NoteEncoding is for OBJECT ENCODING. Redis 7.0 stores a hash as a listpack until a command sets something
// and there are more than maxEntries fields (hash-max-listpack-entries), or sets a field or value longer than
// maxValue bytes (hash-max-listpack-value), and then as a hashtable for good. Call it after each command that
// may have set something; otherwise it does nothing.
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

// IsListpack reports whether Redis would still store the hash as a listpack, according to the calls of
// NoteEncoding.
func (h *Hash) IsListpack() bool { return h.flags&flagHashtable == 0 }

// Encoding returns the reply of OBJECT ENCODING.
func (h *Hash) Encoding() string {
	if h.IsListpack() {
		return "listpack"
	}
	return "hashtable"
}
