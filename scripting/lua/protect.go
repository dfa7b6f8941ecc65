package lua

// A pcall in Lua code does not nest Go's stack: it has a frame, and what it must restore after an error is a
// protection. An error is a panic up to executeFrames, or none if a GoFunction returns what Raise returns.

// A CatchFunction pushes what a pcall returns after an error, and returns how many values that are.
type CatchFunction func(L *Thread, v Value) int

// A protection is what L was when a pcall began.
type protection struct {
	frames          int // with that of the pcall
	goCalls, nested int
	scratch         int64
	handler         errorHandler
}

// NewPCall returns a pcall, which returns what catch makes of an error. fn does the same by
// ProtectedCall: it is called by functions of the host, and where there is no argument.
func (L *Thread) NewPCall(fn GoFunction, catch CatchFunction) *Function {
	f := L.NewFunction(fn)
	f.host.catch = catch
	return f
}

// ProtectedCall is the GoFunction of a pcall, or of an xpcall with its handler: it calls the first argument.
func (L *Thread) ProtectedCall(nargs int, handler Value, catch CatchFunction) int {
	if err := L.PCall(nargs, handler); err != nil {
		return catch(L, err.Value)
	}
	L.Push(True)
	L.Insert(1)
	return L.Top()
}

// Raise raises a value when the running GoFunction returns what Raise does.
func (L *Thread) Raise(v Value) int {
	L.raised = v
	return -int(raises)
}

// protect calls the first argument of a pcall.
func (L *Thread) protect(fn *Function, at, wanted int) {
	s := L.state
	*L.pushFrame() = frame{fn: fn, result: at, base: at + 1, wanted: wanted}
	L.base = at + 1
	L.protected = append(L.protected, protection{len(L.frames), s.goCalls, L.nested, s.scratch, L.handler})
	L.handler = errorHandler{}
	L.Step(1)
	L.enterGo()
	callee := L.callable(at + 1)
	if callee.proto != nil {
		L.enterLua(callee, at+1, all).caller = callerPCall
	} else if L.callGo(callee, at+1, all) == raises {
		L.unwind(L.raised)
	} else {
		L.endProtected()
	}
}

// endProtected returns from a pcall without error. The results are after the place of the pcall, up to top.
func (L *Thread) endProtected() {
	L.unprotect()
	f := L.frames[len(L.frames)-1]
	L.frames = L.frames[:len(L.frames)-1]
	L.stack[f.result] = True
	L.moveResults(f.result, L.top-f.result, f.result, f.wanted)
}

// unprotect ends the innermost protection.
func (L *Thread) unprotect() (p protection) {
	n := len(L.protected) - 1
	p = L.protected[n]
	L.protected = L.protected[:n]
	L.state.goCalls, L.nested, L.handler = p.goCalls, p.nested, p.handler
	return p
}

// unwind returns from the innermost pcall after an error.
func (L *Thread) unwind(v Value) {
	p := L.unprotect()
	s := L.state
	s.scratch, s.current, L.status = p.scratch, L, threadRunning
	L.frames = L.frames[:p.frames]
	f := L.frames[p.frames-1]
	L.closeUpvalues(f.base)
	L.base, L.top = f.base, f.base
	n := f.fn.host.catch(L, v)
	L.frames = L.frames[:len(L.frames)-1]
	L.moveResults(L.top-n, n, f.result, f.wanted)
}

// raise raises an error for execute, which goes on at the innermost pcall if there is no Go code in between.
func (L *Thread) raise(v Value) {
	n := len(L.protected)
	if n == 0 {
		L.Throw(v)
	}
	for i := L.protected[n-1].frames; i < len(L.frames); i++ {
		if L.frames[i].caller == callerGo {
			L.Throw(v)
		}
	}
	L.unwind(v)
}

// executeFrames is execute, and after an error goes on at the innermost pcall that it has begun.
func (L *Thread) executeFrames() (returned bool) {
	outer := len(L.protected)
	var err *Error
	for {
		if returned, err = L.attempt(outer, err); err == nil {
			return returned
		}
	}
}

// attempt is execute after the unwinding of an error, if there is one. It returns an error that belongs to a
// pcall above the outer ones.
func (L *Thread) attempt(outer int, last *Error) (returned bool, err *Error) {
	defer func() {
		if len(L.protected) > outer {
			err = caught(recover())
		}
	}()
	if last != nil {
		L.unwind(last.Value)
	}
	return L.execute(), nil
}
