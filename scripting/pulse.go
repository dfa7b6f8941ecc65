package scripting

import (
	"context"

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
	if n, ok := key.(lua.LNumber); ok && n > smallGap && n < lua.LNumber(lua.MaxArrayIndex) {
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
		in.suspect = true
		in.throw(L, lua.LString(in.meter.why))
	}
}

// step, steps and grow are the meter's, for library functions.
func (in *interp) step(L *lua.LState)         { in.check(L, in.meter.step()) }
func (in *interp) steps(L *lua.LState, n int) { in.check(L, in.meter.steps(n)) }
func (in *interp) grow(L *lua.LState, n int)  { in.check(L, in.meter.grow(n)) }
