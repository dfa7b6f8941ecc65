package scripting

import (
	"context"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// A pulse is what gopher-lua's machine asks before each instruction whether
// its context is done, and so is the count hook that the machine does not
// have. It answers with a channel that is never ready; where the script has to
// end it raises the error itself. Each thread has its own, which knows the
// thread.
type pulse struct {
	context.Context // for the methods that nobody calls
	in              *interp
	L               *lua.LState
}

// give makes a thread count its instructions.
func (in *interp) give(L *lua.LState) { L.SetContext(&pulse{context.Background(), in, L}) }

// Done is called when an instruction has been fetched and before it runs.
func (p *pulse) Done() <-chan struct{} {
	m := &p.in.meter
	if m.left--; m.left <= 0 {
		p.in.check(p.L, m.beat())
	}
	f := viewFrame(p.L)
	inst := f.fn.Proto.Code[f.pc-1]
	switch int(inst >> 26) {
	case lua.OP_SETTABLE:
		p.assignment(f, inst)
	case lua.OP_SETLIST:
		if opB(inst) == 0 { // {...}, {f()}: as many as there are
			p.in.grow(p.L, valueSize*p.L.GetTop())
		}
	}
	return nil
}

// assignment asks for the memory of t[n] = v where n lies far beyond the
// table's end: gopher-lua's arrays have no holes, they are filled with nils.
func (p *pulse) assignment(f *frameView, inst uint32) {
	var key lua.LValue
	if b := opB(inst); b&constantBit != 0 {
		key = f.fn.Proto.Constants[b&^constantBit]
	} else {
		key = p.L.Get(b + 1)
	}
	if n, ok := key.(lua.LNumber); ok && n > smallGap && n < lua.LNumber(lua.MaxArrayIndex) && n == lua.LNumber(int(n)) {
		if t, ok := p.L.Get(opA(inst) + 1).(*lua.LTable); ok {
			p.in.reserve(p.L, t, int(n))
		}
	}
}

const (
	valueSize = 16 // of an interface, which is what arrays and registers hold
	// smallGap is what may be skipped without asking.
	smallGap = 64
	// elementSize is an array's element with what growing needs at its worst:
	// the old array and a new one with a quarter more.
	elementSize = valueSize * 9 / 4
)

// reserve is to be called before a library function or an instruction writes
// t[n]. It asks for the memory if the array becomes longer by more than one.
func (in *interp) reserve(L *lua.LState, t *lua.LTable, n int) {
	if n <= smallGap || n >= lua.MaxArrayIndex {
		return
	}
	if t.RawGetInt(n-1) != lua.LNil || t.RawGetInt(n) != lua.LNil || in.extents[t] >= n {
		return
	}
	in.grow(L, elementSize*n)
	if in.extents == nil || len(in.extents) >= maxExtents {
		in.extents = make(map[*lua.LTable]int)
	}
	in.extents[t] = n
}

// maxExtents bounds the tables of which is remembered how far they were filled
// with nils: forgetting one costs a measurement too many.
const maxExtents = 1024

// check raises the meter's error where ok is false.
func (in *interp) check(L *lua.LState, ok bool) {
	if !ok {
		// A library outlives the kill of a function, with its locals; but they
		// may be what took too much memory.
		in.suspect = in.suspect || in.meter.kind != runFunction || in.meter.why != errKilled
		in.throw(L, lua.LString(in.meter.why))
	}
}

// steps, grow and hold are the meter's, for library functions. Writing memory
// is work as well.
func (in *interp) steps(L *lua.LState, n int) { in.check(L, in.meter.steps(n)) }

func (in *interp) grow(L *lua.LState, n int) {
	in.check(L, in.meter.grow(n) && in.meter.steps(n/bytesPerStep))
}

func (in *interp) hold(L *lua.LState, n int) {
	in.check(L, in.meter.hold(n) && in.meter.steps(n/bytesPerStep))
}

// extend makes room for n bytes behind a text that a library function writes:
// the old and the new one must fit into the memory together. What it holds the
// caller gives back by setting the meter's working.
func (in *interp) extend(L *lua.LState, b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	size := max(len(b)+n, len(b)+len(b)/2, 64)
	in.hold(L, size)
	out := make([]byte, len(b), size)
	copy(out, b)
	in.meter.release(cap(b))
	return out
}

// text makes a string of bytes that nobody changes any more.
func text(b []byte) lua.LString {
	if len(b) < 1024 || len(b) < cap(b)/2 {
		return lua.LString(b)
	}
	return lua.LString(unsafe.String(unsafe.SliceData(b), len(b)))
}

// bytesPerStep is how many bytes are copied in the time of a step, or fewer.
const bytesPerStep = 128
