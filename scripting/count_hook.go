package scripting

import (
	"context"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// A countHook is the context of a thread, in place of the count hook that
// gopher-lua does not have: the machine calls Done before each instruction.
// Done returns a channel that is never ready, and raises the error itself when
// the script must end.
type countHook struct {
	context.Context // for the methods that are not called
	in              *interp
	L               *lua.LState
}

// installCountHook makes a thread count its instructions.
func (in *interp) installCountHook(L *lua.LState) {
	L.SetContext(&countHook{context.Background(), in, L})
}

// Done is called after an instruction was fetched and before it runs.
func (h *countHook) Done() <-chan struct{} {
	m := &h.in.meter
	if m.stepsLeft--; m.stepsLeft <= 0 {
		h.in.check(h.L, m.poll())
	}
	f := viewFrame(h.L)
	inst := f.fn.Proto.Code[f.pc-1]
	switch int(inst >> 26) {
	case lua.OP_SETTABLE:
		h.checkAssignment(f, inst)
	case lua.OP_SETLIST:
		if opB(inst) == 0 { // {...}, {f()}: a variable number of values
			h.in.grow(h.L, valueSize*h.L.GetTop())
		}
	}
	return nil
}

// checkAssignment charges the memory of t[n] = v if n is far beyond the end of
// the table: gopher-lua's arrays have no holes, they are filled with nils.
func (h *countHook) checkAssignment(f *frameView, inst uint32) {
	var key lua.LValue
	if b := opB(inst); b&constantBit != 0 {
		key = f.fn.Proto.Constants[b&^constantBit]
	} else {
		key = h.L.Get(b + 1)
	}
	n, ok := key.(lua.LNumber)
	if ok && n > smallGap && n < lua.LNumber(lua.MaxArrayIndex) && n == lua.LNumber(int(n)) {
		if t, ok := h.L.Get(opA(inst) + 1).(*lua.LTable); ok {
			h.in.reserveArray(h.L, t, int(n))
		}
	}
}

const (
	valueSize = 16 // an interface, the element of arrays and registers
	// smallGap is the gap up to which assignments are not charged.
	smallGap = 64
	// elementSize is the worst case for an array element while the array grows:
	// the old array and a new one with a quarter more.
	elementSize = valueSize * 9 / 4
)

// reserveArray must be called before a library function or an instruction
// writes t[n]. It charges the memory if the array grows by more than one.
func (in *interp) reserveArray(L *lua.LState, t *lua.LTable, n int) {
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

// maxExtents limits the number of tables in extents. A forgotten table costs a
// needless measurement.
const maxExtents = 1024

// check raises the meter's error if ok is false.
func (in *interp) check(L *lua.LState, ok bool) {
	if !ok {
		// A library, with its locals, survives the kill of a function; but the
		// locals may be what took too much memory.
		in.unusable = in.unusable || in.meter.kind != runFunction || in.meter.errText != errKilled
		in.throw(L, lua.LString(in.meter.errText))
	}
}

// steps, grow and growScratch are the meter's methods for library functions.
// Writing memory also takes steps.
func (in *interp) steps(L *lua.LState, n int) { in.check(L, in.meter.steps(n)) }

func (in *interp) grow(L *lua.LState, n int) {
	in.check(L, in.meter.grow(n) && in.meter.steps(n/bytesPerStep))
}

func (in *interp) growScratch(L *lua.LState, n int) {
	in.check(L, in.meter.growScratch(n) && in.meter.steps(n/bytesPerStep))
}

// growBuffer makes room for n bytes in the output of a library function. The
// old and the new buffer must fit into the memory together. The caller frees
// the buffer by restoring the meter's scratchBytes.
func (in *interp) growBuffer(L *lua.LState, b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	size := max(len(b)+n, len(b)+len(b)/2, 64)
	in.growScratch(L, size)
	out := make([]byte, len(b), size)
	copy(out, b)
	in.meter.releaseScratch(cap(b))
	return out
}

// text returns b, which must not change any more, as a string.
func text(b []byte) lua.LString {
	if len(b) < 1024 || len(b) < cap(b)/2 {
		return lua.LString(b)
	}
	return lua.LString(unsafe.String(unsafe.SliceData(b), len(b)))
}

// bytesPerStep is a lower bound of the bytes copied in the time of a step.
const bytesPerStep = 128
