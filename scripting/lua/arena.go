package lua

import "math"

// An arena holds the short strings of a run, and its first tables. The host
// empties it after the run if it knows that none of them is used anymore; see
// State.Reset. What does not fit is left to the garbage collector, so that a
// loop that builds strings does not keep them all alive.
type arena struct {
	tables      []*Table // those in use come first
	tablesInUse int
	text        []byte
	concat      []byte // results of `..` whose length is not known in advance
}

const maxArenaText = 2 << 10

// keptBytes is what a run may allocate without being cleaned up thoroughly.
const keptBytes = 64 << 10

// UseArena gives runs an arena for n bytes of strings and some tables, which
// Reset empties.
func (s *State) UseArena(n, tables int) {
	s.arena.text = make([]byte, 0, n)
	s.arena.tables = make([]*Table, 0, tables)
}

// Reset forgets the strings and tables of the last run. No Value may refer to
// them: they are used again. It drops what is left on the main thread's stacks.
func (s *State) Reset() {
	a := &s.arena
	a.text = a.text[:0]
	for _, t := range a.tables[:a.tablesInUse] {
		t.clear()
	}
	a.tablesInUse = 0
	s.recent = recentNumber{}
	s.scratch, s.goCalls = 0, 0
	s.current = s.main
	if s.Granted-s.Room > keptBytes { // there may be large values in registers of calls that have returned
		clear(s.main.stack)
		a.concat = nil
	}
	s.main.reset()
}

func (L *Thread) reset() {
	const keep = 4096
	L.closeUpvalues(0)
	L.frames = L.frames[:0]
	L.base, L.top, L.nested, L.handler = 0, 0, 0, errorHandler{}
	if len(L.stack) > keep {
		L.stack = make([]Value, firstStack)
	}
	if cap(L.frames) > keep/16 {
		L.frames = make([]frame, 0, 4)
	}
	L.status = threadRunning
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
