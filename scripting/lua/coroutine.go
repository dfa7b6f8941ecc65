package lua

// NewThread returns a coroutine that will run fn.
func (L *Thread) NewThread(fn *Function) *Thread {
	L.Grow(threadSize + firstStack*valueSize)
	co := newThread(L.state)
	co.Push(FunctionValue(fn))
	return co
}

var statusNames = [...]string{"suspended", "running", "normal", "dead"}

// Status returns what coroutine.status does.
func (L *Thread) Status() string { return statusNames[L.status] }

// IsMain reports whether L is no coroutine.
func (L *Thread) IsMain() bool { return L == L.state.main }

// Resume runs co until it yields or ends, with the nargs values on top of L's
// stack, which are dropped. The n results are pushed.
func (L *Thread) Resume(co *Thread, nargs int) (n int, err *Error) {
	if co.status != threadSuspended {
		L.top -= nargs
		return 0, &Error{Value: String("cannot resume " + co.Status() + " coroutine")}
	}
	s := L.state
	s.goCalls++
	if s.goCalls > maxGoCalls {
		L.runtimeError("C stack overflow")
	}
	co.reserve(co.top + nargs + window)
	copy(co.stack[co.top:], L.stack[L.top-nargs:L.top])
	co.top += nargs
	L.top -= nargs
	co.resumer, co.nested = L, 0
	co.status, L.status, s.current = threadRunning, threadNormal, co
	goCalls, scratch := s.goCalls, s.scratch
	n, err = co.run(nargs)
	s.goCalls, s.current = goCalls-1, L
	L.status, co.resumer = threadRunning, nil
	if err != nil {
		s.scratch = scratch
		return 0, err
	}
	L.reserve(L.top + n)
	copy(L.stack[L.top:], co.stack[co.top-n:co.top])
	L.top += n
	co.top -= n
	return n, nil
}

// run starts or continues the thread with the values on top of its stack.
func (L *Thread) run(nargs int) (n int, err *Error) {
	defer func() {
		e := caught(recover())
		if e == nil {
			return
		}
		L.closeUpvalues(0)
		L.status, L.frames, L.stack, L.protected = threadDead, nil, nil, nil
		L.base, L.top = 0, 0
		err = e
	}()
	if !L.started {
		L.started = true
		L.enterLua(L.stack[0].Function(), 0, all).caller = callerGo
	} else {
		f := L.frames[len(L.frames)-1] // of the function that yielded
		L.frames = L.frames[:len(L.frames)-1]
		L.moveResults(L.top-nargs, nargs, f.result, f.wanted)
	}
	if L.executeFrames() {
		L.status = threadDead
		return L.top, nil
	}
	L.status = threadSuspended
	return L.yielded, nil
}

// Yield ends a GoFunction with the n values on top for the resumer. The function returns what it returns.
func (L *Thread) Yield(n int) int {
	if L.resumer == nil || L.nested > 0 {
		L.Throw(String("attempt to yield across metamethod/C-call boundary"))
	}
	L.yielded = n
	return -int(yields)
}

var coroutineLibrary = []Entry{
	{"create", coroutineCreate},
	{"resume", coroutineResume},
	{"running", coroutineRunning},
	{"status", coroutineStatus},
	{"wrap", coroutineWrap},
	{"yield", coroutineYield},
}

func (L *Thread) newCoroutine() Value {
	v := L.Get(1)
	if v.kind != KindFunction || v.Function().IsGo() {
		L.ArgError(1, "Lua function expected")
	}
	return ThreadValue(L.NewThread(v.Function()))
}

func coroutineCreate(L *Thread) int {
	return L.Return(L.newCoroutine())
}

func coroutineResume(L *Thread) int {
	co := L.CheckThread(1)
	n, err := L.Resume(co, L.Top()-1)
	if err != nil {
		return L.Return(False, err.Value)
	}
	L.Push(True)
	L.Insert(L.Top() - n)
	return n + 1
}

func coroutineWrap(L *Thread) int {
	return L.Return(FunctionValue(L.NewFunction(resumeWrapped, L.newCoroutine())))
}

func resumeWrapped(L *Thread) int {
	co := L.Captured(1)
	n, err := L.Resume(co.Thread(), L.Top())
	if err == nil {
		return n
	}
	if isText(&err.Value) {
		text, _ := L.AsString(err.Value)
		L.Error(text)
	}
	L.Throw(err.Value)
	return 0
}

func coroutineYield(L *Thread) int { return L.Yield(L.Top()) }

func coroutineRunning(L *Thread) int {
	if L.IsMain() {
		L.Push(Nil)
	} else {
		L.Push(ThreadValue(L))
	}
	return 1
}

func coroutineStatus(L *Thread) int {
	return L.Return(String(L.CheckThread(1).Status()))
}
