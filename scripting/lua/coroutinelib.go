package lua

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
