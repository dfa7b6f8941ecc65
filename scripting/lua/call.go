package lua

// all stands for as many results as there are.
const all = -1

// Call calls the function below its nargs arguments on top of the stack. The
// results replace them: as many as wanted, or all of them if that is -1.
func (L *Thread) Call(nargs, wanted int) {
	L.Step(1)
	L.enterGo()
	at := L.top - nargs - 1
	L.callAt(at, wanted)
	L.leaveGo()
	if wanted >= 0 {
		L.top = at + wanted
	}
}

// enterGo counts a call from Go into Lua. The number is limited, since each
// nests Go's stack, and the functions below it cannot yield.
func (L *Thread) enterGo() {
	L.state.goCalls++
	L.nested++
	if n := L.state.goCalls; n > maxGoCalls {
		switch {
		case n == maxGoCalls+1:
			L.runtimeError("C stack overflow")
		case n > maxGoCalls+maxGoCalls/8:
			panic(&Error{Value: String("error in error handling")})
		}
	}
}

func (L *Thread) leaveGo() {
	L.state.goCalls--
	L.nested--
}

// callAt calls the function at a place of the stack, whose arguments are between
// it and top. The results go there. L.base stays, and L.top is after the results.
func (L *Thread) callAt(at, wanted int) {
	base := L.base
	fn := L.callable(at)
	if fn.proto != nil {
		L.enterLua(fn, at, wanted).caller = callerGo
		L.executeFrames()
	} else if L.callGo(fn, at, wanted) == raises {
		L.Throw(L.raised)
	}
	L.base = base
}

// call calls what is at a place of the stack for execute. It reports false if the thread
// has yielded.
func (L *Thread) call(at, wanted int) bool {
	fn := L.callable(at)
	if fn.proto != nil {
		L.enterLua(fn, at, wanted)
		return true
	}
	return L.callFromLua(fn, at, wanted) != yields
}

// callFromLua is callGo for execute. The frame on top has changed unless it returns `returns`.
func (L *Thread) callFromLua(fn *Function, at, wanted int) outcome {
	if fn.host.catch != nil && L.top > at+1 {
		L.protect(fn, at, wanted)
		return catches
	}
	result := L.callGo(fn, at, wanted)
	if result == raises {
		L.raise(L.raised)
	}
	return result
}

// An outcome is how a call of a GoFunction has ended.
type outcome int

const (
	returns outcome = iota
	yields          // the thread has yielded
	raises          // with L.raised
	catches         // it has been a pcall, which may still run
)

// callable returns the function at a place of the stack. If there is another
// value, its __call is put below it.
func (L *Thread) callable(at int) *Function {
	v := &L.stack[at]
	if v.kind == KindFunction {
		return v.Function()
	}
	handler := L.metafield(v, eventCall)
	if handler.kind != KindFunction {
		L.callError(at)
	}
	if L.top == len(L.stack) {
		L.growStack(1)
	}
	copy(L.stack[at+1:L.top+1], L.stack[at:L.top])
	L.top++
	L.stack[at] = handler
	return handler.Function()
}

// enterLua starts a Lua function, whose arguments end at top.
func (L *Thread) enterLua(fn *Function, at, wanted int) *frame {
	p := fn.proto
	base, given := at+1, L.top-at-1
	extra := 0
	if p.vararg {
		// The parameters move above the arguments, which stay for `...`.
		extra = max(given-p.params, 0)
		base = L.top
		L.reserve(base + p.params + window)
		n := copy(L.stack[base:base+p.params], L.stack[at+1:L.top])
		clear(L.stack[base+n : base+p.params])
		clear(L.stack[at+1 : at+1+n])
	} else {
		L.reserve(base + window)
		if given < p.params {
			clear(L.stack[base+given : base+p.params])
		}
	}
	f := L.pushFrame()
	*f = frame{fn: fn, result: at, base: base, extra: extra, wanted: wanted}
	if p.usesArg {
		L.makeArg(f)
	}
	return f
}

// makeArg stores the table `arg` after the parameters.
func (L *Thread) makeArg(f *frame) {
	t := L.NewTable(f.extra, 1)
	copy(t.array, L.stack[f.base-f.extra:f.base])
	t.SetString("n", Number(float64(f.extra)))
	L.stack[f.base+f.fn.proto.params] = TableValue(t)
}

// callGo runs a GoFunction, whose arguments end at top. Unless that returns, its frame stays.
func (L *Thread) callGo(fn *Function, at, wanted int) outcome {
	L.reserve(L.top + 32)
	f := L.pushFrame()
	f.fn, f.result, f.base, f.wanted, f.caller, f.tail = fn, at, at+1, wanted, callerOther, 0
	L.base = at + 1
	n := fn.host.native(L)
	if n < 0 {
		return outcome(-n)
	}
	L.frames = L.frames[:len(L.frames)-1]
	L.moveResults(L.top-n, n, at, wanted)
	return returns
}

// moveResults stores n values from a place of the stack where the caller expects
// them, and sets top after them.
func (L *Thread) moveResults(from, n, to, wanted int) {
	switch wanted {
	case 0:
		L.top = to
	case 1:
		if n > 0 {
			L.stack[to] = L.stack[from]
		} else {
			L.stack[to] = Nil
		}
		L.top = to + 1
	case all:
		if n > valuesPerStep {
			L.Step(n / valuesPerStep)
		}
		copy(L.stack[to:to+n], L.stack[from:from+n])
		L.top = to + n
	default:
		m := copy(L.stack[to:to+wanted], L.stack[from:from+min(n, wanted)])
		clear(L.stack[to+m : to+wanted])
		L.top = to + wanted
	}
}

// CallFirst is Call for the host: it returns the first result, or nil, and drops the function.
func (L *Thread) CallFirst(nargs int) Value {
	L.Call(nargs, 1)
	L.top--
	return L.stack[L.top]
}

// Run is Call for the host: it catches every error, Fatal ones as well. The
// results, all of them, are on top.
func (L *Thread) Run(nargs int) (err *Error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	L.Call(nargs, all)
	return nil
}

// PCall is Call for a pcall: it catches an error, after handler, if that is not
// nil, has replaced its value. The results, all of them, are on top.
func (L *Thread) PCall(nargs int, handler Value) (err *Error) {
	s := L.state
	at := L.top - nargs - 1
	frames, base, goCalls, nested := len(L.frames), L.base, s.goCalls, L.nested
	scratch, saved, protected := s.scratch, L.handler, len(L.protected)
	L.handler = errorHandler{fn: handler}
	defer func() {
		L.handler = saved
		e := caught(recover())
		if e == nil {
			return
		}
		L.closeUpvalues(at)
		L.frames, L.protected = L.frames[:frames], L.protected[:protected]
		L.base, L.top, L.nested = base, at, nested
		s.goCalls, s.scratch, s.current = goCalls, scratch, L
		L.status = threadRunning
		err = e
	}()
	L.Call(nargs, all)
	return nil
}
