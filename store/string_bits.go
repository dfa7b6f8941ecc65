package store

// NewRaw returns a string that keeps text and is never embstr: what BITOP stores.
func NewRaw(text []byte) *String { return &String{bytes: text, enc: encRaw} }

// Edit converts s to text of at least size bytes, padded with NUL bytes, and returns it for changing in
// place. Capacity grows geometrically, so that many small steps cost no more than a long one.
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
