package lua

// Limits of the stacks. A script that reaches one gets an error, as in C Lua.
const (
	maxFrames    = 20000   // of a thread
	maxStack     = 1 << 19 // values of a thread
	maxGoCalls   = 195     // nested calls from Go into Lua, as LUAI_MAXCCALLS
	maxPushed    = 8000    // values that one GoFunction may push, as LUAI_MAXCSTACK
	window       = 256     // registers that an instruction can name
	threadSize   = 512
	frameSize    = 64
	firstStack   = window + 64
	errorReserve = 2000 // frames for the handler of a stack overflow
)

// A Thread is a coroutine, or the main program of a State: a stack of values and
// one of frames.
//
// Invariants: the registers of the running Lua function are
// stack[base:base+window], so an instruction needs no check of bounds. The
// arguments of a running GoFunction are stack[base:top]. Values above the
// running function's are garbage.
type Thread struct {
	state  *State
	stack  []Value
	base   int
	top    int // of a GoFunction; of open results in a Lua function
	frames []frame
	open   *upvalue // those that point into the stack, the highest first

	status  threadStatus
	resumer *Thread // that waits for this one
	nested  int     // calls from Go into Lua since it was resumed; it can yield if 0
	handler errorHandler

	protected []protection // pcalls that do not nest Go's stack
	raised    Value        // by the GoFunction that has returned raises
	mark      uint32
	started   bool
	yielded   int // how many values it has yielded
}

type threadStatus uint8

const (
	threadSuspended threadStatus = iota
	threadRunning
	threadNormal // has resumed another
	threadDead
)

// A frame is a function that runs.
type frame struct {
	fn     *Function
	result int // where its results go: the place of the function
	base   int
	extra  int // arguments below base, for `...`
	wanted int // number of results; -1 for all
	pc     int // of the next instruction, as of the last call or error
	tail   int // frames that tail calls have replaced
	caller callerKind
}

// A callerKind is what the frame below is, as far as it matters when this one returns.
type callerKind uint8

const (
	callerOther callerKind = iota
	callerGo               // to return ends the loop
	callerPCall            // to return ends a pcall
)

func newThread(s *State) *Thread {
	return &Thread{state: s, stack: make([]Value, firstStack), frames: make([]frame, 0, 4)}
}

// State returns the world that the thread belongs to.
func (L *Thread) State() *State { return L.state }

// growStack makes room for n values above top.
func (L *Thread) growStack(n int) { L.reserve(L.top + n) }

// reserve makes the stack at least n long. Registers must be read anew then.
func (L *Thread) reserve(n int) {
	if n <= len(L.stack) {
		return
	}
	if n > maxStack {
		if n > maxStack+maxStack/8 {
			panic(&Error{Value: String("error in error handling")})
		}
		L.overflow()
	}
	size := max(2*len(L.stack), n+window)
	L.Grow(size * valueSize)
	stack := make([]Value, size)
	copy(stack, L.stack)
	L.stack = stack
	for u := L.open; u != nil; u = u.next {
		u.v = &stack[u.index]
	}
}

// registers returns the registers of the function whose frame has that base.
func (L *Thread) registers(base int) *[window]Value {
	return (*[window]Value)(L.stack[base : base+window])
}

// pushFrame adds a frame, whose fields the caller sets.
func (L *Thread) pushFrame() *frame {
	n := len(L.frames)
	if n < cap(L.frames) && n < maxFrames {
		L.frames = L.frames[:n+1]
		return &L.frames[n]
	}
	if n >= maxFrames {
		L.stackOverflow(n)
	}
	if n == cap(L.frames) {
		L.Grow(n * frameSize)
	}
	L.frames = append(L.frames, frame{})
	return &L.frames[n]
}

func (L *Thread) stackOverflow(n int) {
	if n >= maxFrames+errorReserve {
		L.Throw(String("error in error handling"))
	}
	L.overflow()
}

// overflow raises the error that a stack is full. Afterwards it may grow a little
// more, for the handler.
func (L *Thread) overflow() {
	if !L.handler.overflow {
		L.handler.overflow = true
		L.runtimeError("stack overflow")
	}
}

// findUpvalue returns the upvalue for a place of the stack.
func (L *Thread) findUpvalue(index int) *upvalue {
	at := &L.open
	for *at != nil && int((*at).index) > index {
		at = &(*at).next
	}
	if u := *at; u != nil && int(u.index) == index {
		return u
	}
	L.Grow(upvalueSize)
	u := L.state.arena.upvalues.next()
	if u == nil {
		u = &upvalue{}
	}
	u.v, u.index, u.next = &L.stack[index], int32(index), *at
	*at = u
	return u
}

// closeUpvalues detaches the upvalues at and above a place of the stack.
func (L *Thread) closeUpvalues(index int) {
	for u := L.open; u != nil && int(u.index) >= index; u = L.open {
		L.open = u.next
		u.closed = *u.v
		u.v, u.next = &u.closed, nil
	}
}

const (
	upvalueSize  = 80
	functionSize = 96
)

// NewFunction returns a function of the host. captured is what it needs beyond
// L.State(), so that Reachable finds it.
func (L *Thread) NewFunction(fn GoFunction, captured ...Value) *Function {
	L.Grow(functionSize + valueSize*len(captured))
	f := &struct {
		Function
		hostFunction
	}{Function{env: L.state.Globals}, hostFunction{native: fn, captured: captured}}
	f.host = &f.hostFunction
	return &f.Function
}

// Captured returns the nth value that the running GoFunction was made with.
func (L *Thread) Captured(n int) Value { return L.frames[len(L.frames)-1].fn.host.captured[n-1] }

// NewTable returns a table with room for elements and fields.
func (L *Thread) NewTable(elements, fields int) *Table {
	L.Grow(tableSize + elements*valueSize + fields*nodeSize)
	t := L.state.arena.tables.next()
	if t == nil {
		return NewTable(elements, fields)
	}
	if elements > cap(t.array) {
		t.array = make([]Value, elements)
	} else {
		t.array = t.array[:elements]
	}
	if fields > 0 {
		t.makeNodes(fields)
	}
	return t
}

// Wanted returns how many results the caller of the running GoFunction uses; -1
// if it uses all.
func (L *Thread) Wanted() int { return L.frames[len(L.frames)-1].wanted }
