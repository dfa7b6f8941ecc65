package lua

// An iterator tells the loop which functions it can replace.
type iterator uint8

const (
	iteratesOther iterator = iota
	iteratesNext           // the function next
	iteratesArray          // the function that ipairs returns
)

// tailCall replaces the running function by another one.
func (L *Thread) tailCall(callee *Function, at int) {
	f := L.frames[len(L.frames)-1]
	if L.open != nil {
		L.closeUpvalues(f.base)
	}
	L.top = f.result + copy(L.stack[f.result:], L.stack[at:L.top])
	L.frames = L.frames[:len(L.frames)-1]
	next := L.enterLua(callee, f.result, f.wanted)
	next.caller, next.tail = f.caller, f.tail+1
}

// prepareFor checks the operands of a numeric loop and steps back once.
func (L *Thread) prepareFor(r *[3]Value) {
	for i, what := range [...]string{"initial value", "limit", "step"} {
		n, ok := r[i].AsNumber()
		if !ok {
			L.runtimeError("'for' " + what + " must be a number")
		}
		r[i].setNumber(n)
	}
	r[0].setNumber(r[0].Num() - r[2].Num())
}

// callIterator makes a turn of a generic loop by a call.
func (L *Thread) callIterator(at, wanted int) {
	copy(L.stack[at+3:at+6], L.stack[at:at+3])
	L.top = at + 6
	L.Call(2, wanted)
}

// iterate makes a turn of a loop over a table.
func (L *Thread) iterate(kind iterator, r *[5]Value, wanted int) {
	if r[1].kind != KindTable {
		L.runtimeError("bad argument #1 to '(for generator)' (table expected, got " + r[1].TypeName() + ")")
	}
	t := r[1].Table()
	var key, value Value
	if kind == iteratesNext {
		var ok bool
		if key, value, ok = t.Next(r[2]); !ok {
			L.runtimeError("invalid key to 'next'")
		}
	} else {
		n := int(r[2].Num()) + 1
		if value = t.GetInt(n); value.kind != KindNil {
			key = Number(float64(n))
		}
	}
	r[3] = key
	if wanted > 1 {
		r[4] = value
	}
}

// setList stores the elements of a table constructor.
func (L *Thread) setList(t *Table, from, n, after int) {
	if n < 0 {
		n = L.top - from
	}
	t.reserveArray(L, after+n)
	copy(t.array[after:after+n], L.stack[from:from+n])
}

func (L *Thread) closure(fn *Function, p *Proto, base int) *Function {
	L.Grow(functionSize + 8*len(p.upvalueDesc))
	c := L.newClosure(len(p.upvalueDesc))
	c.proto, c.env = p, fn.env
	for i := range p.upvalueDesc {
		if d := &p.upvalueDesc[i]; d.local {
			c.upvalues[i] = L.findUpvalue(base + d.register)
		} else {
			c.upvalues[i] = fn.upvalues[d.register]
		}
	}
	return c
}

// A roomyClosure is a function with its upvalues, in one piece.
type roomyClosure struct {
	Function
	room [3]*upvalue
}

// newClosure returns a function with n upvalues.
func (L *Thread) newClosure(n int) *Function {
	if n > len(roomyClosure{}.room) {
		return &Function{upvalues: make([]*upvalue, n)}
	}
	c := L.state.arena.closures.next()
	if c == nil {
		if n == 0 {
			return &Function{}
		}
		c = &roomyClosure{}
	}
	c.upvalues = c.room[:n]
	return &c.Function
}

// varargs copies n extra arguments, or all of them.
func (L *Thread) varargs(f *frame, to, n int) {
	from, given := f.base-f.extra, f.extra
	if n < 0 {
		n = given
		L.Step(n / valuesPerStep)
		L.reserve(to + n + window)
		L.top = to + n
	}
	m := copy(L.stack[to:to+n], L.stack[from:from+min(n, given)])
	clear(L.stack[to+m : to+n])
}
