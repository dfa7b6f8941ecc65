package lua

import (
	"fmt"
	"strconv"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// An Error is a Lua error on its way to a pcall. GoFunctions raise it by a panic; see Thread.Error.
type Error struct {
	Value Value
	Fatal bool // no pcall catches it
	// Source and Line are where it was raised, for the host.
	Source string
	Line   int
}

// Error returns the text of a string or number, or the type.
func (e *Error) Error() string {
	switch e.Value.kind {
	case KindString:
		return e.Value.Str()
	case KindNumber:
		return FormatNumber(e.Value.Num())
	}
	return "(error object is a " + e.Value.TypeName() + " value)"
}

// An errorHandler is what the innermost pcall or xpcall of a thread does with an
// error, before the frames are dropped.
type errorHandler struct {
	fn       Value // of xpcall; else nil
	overflow bool  // a stack overflow is being handled
}

// caught returns the error that a recovered panic was, or nil if there was none. What pcall may not catch
// goes on as it was.
func caught(r any) *Error {
	if r == nil {
		return nil
	}
	e, ok := r.(*Error)
	if !ok || e.Fatal {
		panic(r)
	}
	return e
}

// Throw raises a value as it is.
func (L *Thread) Throw(v Value) {
	e := &Error{Value: v}
	e.Source, e.Line = L.raisedAt()
	if h := L.handler.fn; h.kind != KindNil {
		e.Value = L.handleError(h, v)
	}
	panic(e)
}

// Fatal raises an error that ends the script.
func (L *Thread) Fatal(text string) {
	e := &Error{Value: String(text), Fatal: true}
	e.Source, e.Line = L.raisedAt()
	panic(e)
}

// Error raises a text with the position of the code that called the running GoFunction.
func (L *Thread) Error(text string) { L.Throw(String(L.Where(1) + text)) }

// Errorf is Error with a format.
func (L *Thread) Errorf(format string, args ...any) { L.Error(fmt.Sprintf(format, args...)) }

// runtimeError raises a text with the position of the running function.
func (L *Thread) runtimeError(text string) { L.Throw(String(L.Where(0) + text)) }

// handleError returns what xpcall's handler makes of an error.
func (L *Thread) handleError(handler, v Value) (result Value) {
	frames, protected, base, top := len(L.frames), len(L.protected), L.base, L.top
	goCalls, nested := L.state.goCalls, L.nested
	saved := L.handler
	L.handler = errorHandler{overflow: saved.overflow}
	defer func() {
		L.handler = saved
		if r := recover(); r != nil {
			if e, ok := r.(*Error); !ok || e.Fatal {
				panic(r)
			}
			L.frames, L.protected = L.frames[:frames], L.protected[:protected]
			L.state.goCalls, L.nested = goCalls, nested
			result = String("error in error handling")
		}
		L.base, L.top = base, top
	}()
	L.top = L.liveTop()
	L.Push(handler)
	L.Push(v)
	L.Call(1, 1)
	return L.stack[L.top-1]
}

// liveTop returns the first place of the stack that no function uses.
func (L *Thread) liveTop() int {
	if len(L.frames) == 0 {
		return L.top
	}
	f := &L.frames[len(L.frames)-1]
	if f.fn.proto == nil {
		return L.top
	}
	return max(L.top, f.base+f.fn.proto.registers)
}

// frameAt returns the frame of a level: 0 is the running function, 1 its caller. lost is true for a
// function that a tail call has replaced; f is nil beyond the stack.
func (L *Thread) frameAt(level int) (f *frame, lost bool) {
	for i := len(L.frames) - 1; i >= 0; i-- {
		f = &L.frames[i]
		if level == 0 {
			return f, false
		}
		level--
		if f.fn.proto != nil && level < f.tail {
			return f, true
		}
		if f.fn.proto != nil {
			level -= f.tail
		}
	}
	return nil, false
}

// Where returns the position of the function at a level, as "source:line: ", or "" if it is not known.
func (L *Thread) Where(level int) string {
	f, lost := L.frameAt(level)
	if f == nil || lost || f.fn.proto == nil {
		return ""
	}
	return syntax.ShortSource(f.fn.proto.Source) + ":" + strconv.Itoa(f.line()) + ": "
}

// line returns the line of the instruction that runs in a frame of a Lua function.
func (f *frame) line() int { return int(f.fn.proto.lines[max(f.pc-1, 0)]) }

func (L *Thread) raisedAt() (source string, line int) {
	f, _ := L.frameAt(0)
	if f != nil && f.fn.proto == nil {
		f, _ = L.frameAt(1)
	}
	if f == nil || f.fn.proto == nil {
		return "", 0
	}
	return f.fn.proto.Source, f.line()
}
