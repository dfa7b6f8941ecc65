package lua

import "strconv"

// The functions here serve GoFunctions: they read arguments and raise the
// errors that C Lua's libraries raise.

// Top returns the number of arguments, and of values pushed since.
func (L *Thread) Top() int { return L.top - L.base }

// Get returns the nth argument or pushed value, or nil if there is none. A negative n counts from the top.
func (L *Thread) Get(n int) Value {
	i := L.base + n - 1
	if n < 0 {
		i = L.top + n
	}
	if i < L.base || i >= L.top {
		return Nil
	}
	return L.stack[i]
}

// Push pushes a value.
func (L *Thread) Push(v Value) {
	if L.top == len(L.stack) {
		L.growStack(1)
	}
	L.stack[L.top] = v
	L.top++
}

// PushNumber pushes a number.
func (L *Thread) PushNumber(f float64) { L.Push(Number(f)) }

// PushString pushes s without a copy. See NewString.
func (L *Thread) PushString(s string) { L.Push(String(s)) }

// PushBool pushes a boolean.
func (L *Thread) PushBool(b bool) { L.Push(Bool(b)) }

// Return pushes the results of a GoFunction and returns their number.
func (L *Thread) Return(results ...Value) int {
	for i := range results {
		L.Push(results[i])
	}
	return len(results)
}

// Pop drops n values.
func (L *Thread) Pop(n int) { L.top -= n }

// SetTop drops the values above the nth, or adds nils.
func (L *Thread) SetTop(n int) {
	for L.Top() < n {
		L.Push(Nil)
	}
	L.top = L.base + n
}

// Insert moves the value on top to place n.
func (L *Thread) Insert(n int) {
	v := L.stack[L.top-1]
	at := L.base + n - 1
	copy(L.stack[at+1:L.top], L.stack[at:L.top-1])
	L.stack[at] = v
}

// AsString converts a string or a number as the string functions do.
func (L *Thread) AsString(v Value) (string, bool) {
	switch v.kind {
	case KindString:
		return v.Str(), true
	case KindNumber:
		text := L.NumberText(v.Num())
		return text.Str(), true
	}
	return "", false
}

// ArgError raises the error about the nth argument, with the name by which the
// running GoFunction was called.
func (L *Thread) ArgError(n int, msg string) {
	kind, name := L.calledName()
	if kind == "method" {
		if n--; n == 0 {
			L.Error("calling '" + name + "' on bad self (" + msg + ")")
		}
	}
	if name == "" {
		name = "?"
	}
	L.Error("bad argument #" + strconv.Itoa(n) + " to '" + name + "' (" + msg + ")")
}

// TypeError raises the error about an nth argument of another type.
func (L *Thread) TypeError(n int, expected string) {
	got := "no value"
	if n <= L.Top() {
		v := L.Get(n)
		got = v.TypeName()
	}
	L.ArgError(n, expected+" expected, got "+got)
}

// CheckAny returns the nth argument, which must be there.
func (L *Thread) CheckAny(n int) Value {
	if n > L.Top() {
		L.ArgError(n, "value expected")
	}
	return L.Get(n)
}

// CheckNumber returns the nth argument as a number.
func (L *Thread) CheckNumber(n int) float64 {
	v := L.Get(n)
	f, ok := v.AsNumber()
	if !ok {
		L.TypeError(n, "number")
	}
	return f
}

// OptNumber returns the nth argument as a number, or otherwise if it is nil.
func (L *Thread) OptNumber(n int, otherwise float64) float64 {
	if v := L.Get(n); v.kind == KindNil {
		return otherwise
	}
	return L.CheckNumber(n)
}

// CheckInt returns the nth argument as an integer of 32 bits.
func (L *Thread) CheckInt(n int) int { return ToInt(L.CheckNumber(n)) }

// OptInt returns the nth argument as an integer, or otherwise if it is nil.
func (L *Thread) OptInt(n, otherwise int) int {
	if v := L.Get(n); v.kind == KindNil {
		return otherwise
	}
	return L.CheckInt(n)
}

// CheckString returns the nth argument as a string. It may alias memory of the run.
func (L *Thread) CheckString(n int) string {
	s, ok := L.AsString(L.Get(n))
	if !ok {
		L.TypeError(n, "string")
	}
	return s
}

// OptString returns the nth argument as a string, or otherwise if it is nil.
func (L *Thread) OptString(n int, otherwise string) string {
	if v := L.Get(n); v.kind == KindNil {
		return otherwise
	}
	return L.CheckString(n)
}

// CheckTable returns the nth argument, which must be a table.
func (L *Thread) CheckTable(n int) *Table {
	v := L.Get(n)
	if v.kind != KindTable {
		L.TypeError(n, "table")
	}
	return v.Table()
}

// CheckFunction returns the nth argument, which must be a function.
func (L *Thread) CheckFunction(n int) *Function {
	v := L.Get(n)
	if v.kind != KindFunction {
		L.TypeError(n, "function")
	}
	return v.Function()
}

// CheckThread returns the nth argument, which must be a coroutine.
func (L *Thread) CheckThread(n int) *Thread {
	v := L.Get(n)
	if v.kind != KindThread {
		L.ArgError(n, "coroutine expected")
	}
	return v.Thread()
}
