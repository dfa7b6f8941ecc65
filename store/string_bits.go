package store

// NewRaw returns a string that keeps text as its own, and that Redis would not
// call embstr: what BITOP stores.
func NewRaw(text []byte) *String { return &String{bytes: text, enc: encRaw} }

// Edit makes s text of at least size bytes that may be changed in place, and
// returns it. What is added is NUL bytes; room grows ahead of what is asked for,
// so that many small steps cost no more than one that is as long.
func (s *String) Edit(size int) []byte {
	s.edit()
	if s.shared {
		s.bytes, s.shared = append(make([]byte, 0, max(size, len(s.bytes))), s.bytes...), false
	}
	if add := size - len(s.bytes); add > 0 {
		s.bytes = append(s.bytes, make([]byte, add)...)
	}
	return s.bytes
}
