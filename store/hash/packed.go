package hash

import "slices"

// packed is the small form: for each field the length of its name as a LEB128 number, the name, the length of
// its value, the value. The zero value is empty.
//
// Invariant: n <= smallFields, len(data) <= smallBytes, fields are unique.
type packed struct {
	data []byte
	n    int32
}

// A span is the position of one field and its value in data.
type span struct {
	start           int // of the whole entry
	field, fieldEnd int
	valueSize       int // position of the value's length
	value, next     int // next is the end of the value, and of the entry
}

// read returns the span of the entry at pos.
func (p *packed) read(pos int) span {
	s := span{start: pos}
	var size int
	size, s.field = length(p.data, pos)
	s.fieldEnd = s.field + size
	s.valueSize = s.fieldEnd
	size, s.value = length(p.data, s.valueSize)
	s.next = s.value + size
	return s
}

// length decodes the number at pos, of one or two bytes, and returns the position after it.
func length(data []byte, pos int) (size, next int) {
	size = int(data[pos])
	if size < 0x80 {
		return size, pos + 1
	}
	return size&0x7f | int(data[pos+1])<<7, pos + 2
}

// lengthSize returns the number of bytes of a length; there are at most two.
func lengthSize(n int) int {
	if n < 0x80 {
		return 1
	}
	return 2
}

func entrySize(field, value []byte) int {
	return lengthSize(len(field)) + len(field) + lengthSize(len(value)) + len(value)
}

func (p *packed) find(field []byte) (s span, ok bool) {
	data := p.data
	for pos := 0; pos < len(data); {
		size, at := length(data, pos)
		end := at + size
		if size == len(field) && string(data[at:end]) == string(field) {
			return p.read(pos), true
		}
		size, at = length(data, end)
		pos = at + size
	}
	return span{}, false
}

func (p *packed) get(field []byte) (value []byte, ok bool) {
	s, ok := p.find(field)
	if !ok {
		return nil, false
	}
	return p.data[s.value:s.next:s.next], true
}

// set is Hash.Set, unless the entry does not fit: then it changes nothing and fits is false.
func (p *packed) set(field, value []byte) (added, fits bool) {
	s, ok := p.find(field)
	if ok {
		size := lengthSize(len(value)) + len(value)
		if len(value) > smallBytes || len(p.data)-(s.next-s.valueSize)+size > smallBytes {
			return false, false
		}
		p.resize(s.valueSize, s.next, size)
		p.write(s.valueSize, value)
		p.shrink()
		return false, true
	}
	// Each alone first: the sum of the lengths could overflow.
	if p.n >= smallFields || len(field) > smallBytes || len(value) > smallBytes ||
		len(p.data)+entrySize(field, value) > smallBytes {
		return false, false
	}
	end := len(p.data)
	p.resize(end, end, entrySize(field, value))
	p.write(p.write(end, field), value)
	p.n++
	return true, true
}

// write writes the length of b and b at pos, and returns the position after them.
func (p *packed) write(pos int, b []byte) int {
	if len(b) < 0x80 {
		p.data[pos] = byte(len(b))
		pos++
	} else {
		p.data[pos], p.data[pos+1] = byte(len(b))|0x80, byte(len(b)>>7)
		pos += 2
	}
	return pos + copy(p.data[pos:], b)
}

// resize changes the size of data[from:to]; its content is undefined afterwards.
func (p *packed) resize(from, to, size int) {
	end := len(p.data)
	grown := end + size - (to - from)
	if grown > cap(p.data) {
		// A quarter of slack, not a half: there are many of these.
		p.data = append(slices.Grow([]byte(nil), grown+grown/4), p.data...)
	}
	if grown > end {
		p.data = p.data[:grown]
	}
	copy(p.data[from+size:], p.data[to:end])
	p.data = p.data[:grown]
}

func (p *packed) remove(field []byte) bool {
	s, ok := p.find(field)
	if !ok {
		return false
	}
	p.resize(s.start, s.next, 0)
	p.n--
	p.shrink()
	return true
}

// shrink halves data that is three quarters empty.
func (p *packed) shrink() {
	if cap(p.data) > 128 && len(p.data) <= cap(p.data)/4 {
		p.data = append(slices.Grow([]byte(nil), max(2*len(p.data), 96)), p.data...)
	}
}

func (p *packed) all(fn func(field, value []byte) bool) {
	for pos := 0; pos < len(p.data); {
		s := p.read(pos)
		if !fn(p.fieldValue(s)) {
			return
		}
		pos = s.next
	}
}

func (p *packed) fieldValue(s span) (field, value []byte) {
	return p.data[s.field:s.fieldEnd:s.fieldEnd], p.data[s.value:s.next:s.next]
}

// at returns the i-th field and its value.
func (p *packed) at(i int) (field, value []byte) {
	s := p.read(0)
	for ; i > 0; i-- {
		s = p.read(s.next)
	}
	return p.fieldValue(s)
}

func (p *packed) clone() packed { return packed{data: slices.Clone(p.data), n: p.n} }
