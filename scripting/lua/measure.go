package lua

import "unsafe"

// Sizes of what a script holds, rounded up.
const (
	protoSize         = 256
	maxUnsharedString = 64 // shorter strings are counted at every reference
)

// A measurement adds up the memory that a script can reach.
type measurement struct {
	size, limit int64
	epoch       uint32
	strings     addressSet // long strings counted so far
	protos      map[*Proto]bool
	pending     []Value // tables, functions and threads to scan
	depth       int     // of table
}

// maxMeasureDepth is how deep tables are scanned where they are found. Deeper ones are queued, as are
// functions and threads; a queue of all tables would take as much memory as many small ones do.
const maxMeasureDepth = 64

// Reachable estimates the bytes that the running script can reach, and what roots refer to, or stops above
// limit. Read-only tables belong to the host and do not count. It costs as much as a collection.
func (s *State) Reachable(limit int64, roots ...Value) int64 {
	s.mark++
	m := measurement{limit: limit, epoch: s.mark, protos: make(map[*Proto]bool)}
	m.visit(ThreadValue(s.main))
	for th := s.current; th != nil; th = th.resumer {
		m.visit(ThreadValue(th))
	}
	for i := range roots {
		m.count(&roots[i])
	}
	for len(m.pending) > 0 && m.size <= limit {
		last := len(m.pending) - 1
		v := m.pending[last]
		m.pending = m.pending[:last]
		switch v.kind {
		case KindTable:
			m.table(v.Table())
		case KindFunction:
			m.function(v.Function())
		case KindThread:
			m.thread(v.Thread())
		}
	}
	return m.size
}

func (m *measurement) count(v *Value) {
	switch v.kind {
	case KindString:
		// Long strings that share their bytes are counted once. Parts of a
		// string count in full, because in C each would be a copy.
		if v.bits <= maxUnsharedString || m.strings.add(v.ref) {
			m.size += int64(v.bits)
		}
	case KindTable, KindFunction, KindThread:
		m.visit(*v)
	}
}

// visit queues an object, once.
func (m *measurement) visit(v Value) {
	var mark *uint32
	switch v.kind {
	case KindTable:
		if v.Table().readOnly {
			return
		}
		mark = &v.Table().mark
	case KindFunction:
		mark = &v.Function().mark
	case KindThread:
		mark = &v.Thread().mark
	}
	if *mark == m.epoch {
		return
	}
	*mark = m.epoch
	if v.kind == KindTable && m.depth < maxMeasureDepth {
		m.depth++
		m.table(v.Table())
		m.depth--
		return
	}
	m.pending = append(m.pending, v)
}

func (m *measurement) table(t *Table) {
	m.size += tableSize + int64(cap(t.array))*valueSize + int64(cap(t.nodes))*nodeSize
	if t.meta != nil {
		m.visit(TableValue(t.meta))
	}
	const stride = 1024 // elements between looks at the limit
	for i := range t.array {
		m.count(&t.array[i])
		if i%stride == 0 && m.size > m.limit {
			return
		}
	}
	for i := range t.nodes {
		m.count(&t.nodes[i].key) // a key stays after its value is removed
		m.count(&t.nodes[i].value)
		if i%stride == 0 && m.size > m.limit {
			return
		}
	}
}

func (m *measurement) function(f *Function) {
	m.size += functionSize
	if f.env != nil {
		m.visit(TableValue(f.env))
	}
	if f.proto != nil && f.proto.loaded && !m.protos[f.proto] {
		m.protos[f.proto] = true
		m.size += f.proto.Size()
	}
	for _, u := range f.upvalues {
		if u.mark != m.epoch {
			u.mark = m.epoch
			m.size += upvalueSize
			m.count(u.v)
		}
	}
	if f.host != nil {
		for i := range f.host.captured {
			m.count(&f.host.captured[i])
		}
	}
}

func (m *measurement) thread(L *Thread) {
	m.size += threadSize + int64(len(L.stack))*valueSize + int64(cap(L.frames))*frameSize
	if L.status == threadDead {
		return
	}
	top := min(L.liveTop(), len(L.stack))
	for i := range L.stack[:top] {
		m.count(&L.stack[i])
	}
	clear(L.stack[top:]) // garbage would stay alive
	for i := range L.frames {
		m.visit(FunctionValue(L.frames[i].fn))
	}
	m.count(&L.handler.fn)
}

// Size estimates the bytes that a function takes, with its inner functions.
func (p *Proto) Size() int64 {
	size := int64(protoSize + len(p.code)*int(unsafe.Sizeof(instruction{})) + 4*len(p.lines) +
		valueSize*len(p.constants) + int(unsafe.Sizeof(localInfo{}))*len(p.locals))
	for i := range p.constants {
		if v := &p.constants[i]; v.kind == KindString {
			size += int64(v.bits)
		}
	}
	for _, inner := range p.protos {
		size += inner.Size()
	}
	return size
}

// An addressSet is a set of heap addresses. It keeps bits instead of pointers: about two bytes for each of
// objects that lie close together. Go's heap does not move.
//
// Addresses within 16 bytes are equal. A script's objects take at least as
// much, and so do strings, unless they share a backing array.
type addressSet struct {
	blocks map[uintptr]*addressBlock
	last   uintptr // key of the block used last
	block  *addressBlock
}

const (
	addressGrain = 16
	addressBits  = 12
)

type addressBlock [1 << addressBits / 64]uint64

// add adds an address and reports whether it was absent.
func (a *addressSet) add(p unsafe.Pointer) bool {
	at := uintptr(p) / addressGrain
	key, bit := at>>addressBits, at&(1<<addressBits-1)
	if a.block == nil || key != a.last {
		if a.blocks == nil {
			a.blocks = make(map[uintptr]*addressBlock)
		}
		block := a.blocks[key]
		if block == nil {
			block = new(addressBlock)
			a.blocks[key] = block
		}
		a.last, a.block = key, block
	}
	word, mask := &a.block[bit/64], uint64(1)<<(bit%64)
	if *word&mask != 0 {
		return false
	}
	*word |= mask
	return true
}
