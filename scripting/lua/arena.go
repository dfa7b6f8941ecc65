package lua

import "math"

// An arena holds the short strings of a run, and its first tables and closures. The host
// empties it after the run if it knows that none of them is used anymore; see
// State.Reset. What does not fit is left to the garbage collector, so that a
// loop that builds strings does not keep them all alive.
type arena struct {
	tables   pool[Table]
	closures pool[roomyClosure]
	upvalues pool[upvalue]
	text     []byte
	concat   []byte // results of `..` whose length is not known in advance
}

// A pool holds objects that runs use one after the other.
type pool[T any] struct {
	objects []*T // those in use come first
	inUse   int
}

// next returns an object that is not in use, or nil if there are as many as the pool may hold.
func (p *pool[T]) next() *T {
	if p.inUse == cap(p.objects) {
		return nil
	}
	if p.inUse == len(p.objects) {
		p.objects = append(p.objects, new(T))
	}
	p.inUse++
	return p.objects[p.inUse-1]
}

// reset clears those in use. None of them is used afterwards.
func (p *pool[T]) reset(empty func(*T)) {
	for _, object := range p.objects[:p.inUse] {
		empty(object)
	}
	p.inUse = 0
}

const maxArenaText = 2 << 10

// keptBytes is what a run may allocate without being cleaned up thoroughly.
const keptBytes = 64 << 10

// UseArena gives runs an arena for n bytes of strings, and as many tables, closures and their variables as
// objects says, which Reset empties.
func (s *State) UseArena(n, objects int) {
	a := &s.arena
	a.text = make([]byte, 0, n)
	a.tables.objects = make([]*Table, 0, objects)
	a.closures.objects = make([]*roomyClosure, 0, objects)
	a.upvalues.objects = make([]*upvalue, 0, objects)
}

// Reset forgets the strings, tables and closures of the last run. No Value may refer to
// them: they are used again. It drops what is left on the main thread's stacks.
func (s *State) Reset() {
	s.main.reset()
	a := &s.arena
	a.text = a.text[:0]
	a.tables.reset((*Table).clear)
	a.closures.reset(func(c *roomyClosure) { *c = roomyClosure{} })
	a.upvalues.reset(func(u *upvalue) { *u = upvalue{} })
	s.recent = recentNumber{}
	s.scratch, s.goCalls = 0, 0
	s.current = s.main
	// What calls that have returned have left may be large. Room is more than Granted if more was granted.
	if allocated := s.Granted - s.Room; allocated < 0 || allocated > keptBytes {
		s.main.clear()
		a.concat = nil
	}
}

func (L *Thread) reset() {
	const keep = 4096
	L.closeUpvalues(0)
	L.frames = L.frames[:0]
	L.base, L.top, L.nested, L.handler = 0, 0, 0, errorHandler{}
	L.protected, L.raised = L.protected[:0], Nil
	if len(L.stack) > keep {
		L.stack = make([]Value, firstStack)
	}
	if cap(L.frames) > keep/16 {
		L.frames = make([]frame, 0, 4)
	}
	L.status = threadRunning
}

// clear forgets what is left on the stacks, which are empty.
func (L *Thread) clear() {
	clear(L.stack)
	clear(L.frames[:cap(L.frames)])
	clear(L.protected[:cap(L.protected)])
}

// Alloc returns an empty slice with capacity n, for the bytes of a string.
func (L *Thread) Alloc(n int) []byte {
	L.Grow(n)
	a := &L.state.arena
	used := len(a.text)
	if n > maxArenaText || cap(a.text)-used < n {
		return make([]byte, 0, n)
	}
	a.text = a.text[:used+n]
	return a.text[used : used : used+n]
}

// NewString returns a copy of b as a value.
func (L *Thread) NewString(b []byte) Value { return Bytes(append(L.Alloc(len(b)), b...)) }

// CopyString is NewString for a string.
func (L *Thread) CopyString(s string) Value { return Bytes(append(L.Alloc(len(s)), s...)) }

const maxNumberText = 32

// smallNumbers holds the texts of the integers below 256.
var smallNumbers = func() (texts [256]Value) {
	for i := range texts {
		texts[i] = String(FormatNumber(float64(i)))
		texts[i].stringHash()
	}
	return texts
}()

// NumberText returns a number as tostring does.
func (L *Thread) NumberText(f float64) Value {
	if text, ok := L.KnownText(f); ok {
		return text
	}
	var space [maxNumberText]byte
	text := L.NewString(AppendNumber(space[:0], f))
	L.state.remember(f, &text)
	return text
}

// KnownText returns the text of a number, the same with any precision, if it need not be
// made: of small integers, and of the recentNumber.
func (L *Thread) KnownText(f float64) (text Value, ok bool) {
	if i := int(f); 0 <= i && i < len(smallNumbers) && float64(i) == f && (i != 0 || !math.Signbit(f)) {
		return smallNumbers[i], true
	}
	if recent := &L.state.recent; recent.number == f && recent.text.kind == KindString {
		return recent.text, true
	}
	return Nil, false
}

// A recentNumber is the last long integer that was parsed or formatted. A script parses the
// time and passes it on.
type recentNumber struct {
	number float64
	text   Value
}

// remember makes a number the recent one, if text is an integer's without leading zeros and
// tostring would give it.
func (s *State) remember(f float64, text *Value) {
	const least, most = 1e8, 1e14
	if n := int64(f); f >= least && f < most && float64(n) == f && text.Str()[0] != '0' {
		s.recent = recentNumber{f, *text}
	}
}
