package scripting

import (
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A frame is one active function, or the gap that a tail call left.
type frame struct {
	fn   *lua.LFunction // nil for the gap of a tail call
	dbg  *lua.Debug
	pc   int // of the instruction being run; Lua functions only
	tail int // how many tail calls led here
}

// line returns the source line being run, -1 where there is none.
func (f *frame) line() int {
	if f.fn == nil || f.fn.IsG || f.pc < 0 || f.pc >= len(f.fn.Proto.DbgSourcePositions) {
		return -1
	}
	return lineOf(f.fn.Proto.DbgSourcePositions[f.pc])
}

// source names the function's chunk as Lua's debug.getinfo does.
func (f *frame) source() string {
	switch {
	case f.fn == nil:
		return "=(tail call)"
	case f.fn.IsG:
		return "=[C]"
	}
	return f.fn.Proto.SourceName
}

// where is the position that begins an error text, empty where Lua has none.
func (f *frame) where() string {
	line := f.line()
	if line < 0 {
		return ""
	}
	return shortSource(f.fn.Proto.SourceName) + ":" + strconv.Itoa(line) + ": "
}

// stackAt returns the active function at a level, 0 being the innermost, as
// Lua counts: tail calls leave a level each, our own trampolines none.
// It is for errors only: gopher-lua hides a frame's program counter, which
// reflection may read.
func (in *interp) stackAt(L *lua.LState, level int) (frame, bool) {
	for theirs := 0; ; {
		dbg, ok := L.GetStack(theirs)
		if !ok && in.hosts[L] != nil {
			L, theirs = in.hosts[L], 0 // level goes on where pcall was called
			continue
		}
		if !ok {
			return frame{}, false
		}
		f := frame{dbg: dbg, pc: -1}
		v, err := L.GetInfo("f", dbg, lua.LNil)
		if err != nil {
			return frame{}, false
		}
		f.fn, _ = v.(*lua.LFunction)
		hidden := reflect.ValueOf(dbg).Elem().FieldByName("frame").Elem()
		theirs++
		if f.fn != nil && !f.fn.IsG {
			f.pc = int(hidden.FieldByName("Pc").Int()) - 1
			f.tail = int(hidden.FieldByName("TailCall").Int())
			theirs += f.tail
		}
		if f.fn == in.trampoline {
			continue
		}
		if level == 0 {
			return f, true
		}
		level--
		if level < f.tail {
			return frame{pc: -1}, true
		}
		level -= f.tail
	}
}

// where is the position of the function at a level.
func (in *interp) where(L *lua.LState, level int) string {
	f, ok := in.stackAt(L, level)
	if !ok {
		return ""
	}
	return f.where()
}

// shortSource shortens a chunk name for display: 60 bytes with the NUL in C.
func shortSource(name string) string {
	const size = 60
	switch {
	case strings.HasPrefix(name, "="):
		return name[1:min(len(name), size)]
	case strings.HasPrefix(name, "@"):
		name = name[1:]
		if most := size - len(" '...' ") - 1; len(name) > most {
			return "..." + name[len(name)-most:]
		}
		return name
	}
	line := name
	if i := strings.IndexAny(name, "\n\r"); i >= 0 {
		line = name[:i]
	}
	line = line[:min(len(line), size-len(` [string "..."] `)-1)]
	if len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}
