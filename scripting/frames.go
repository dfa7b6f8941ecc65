package scripting

import (
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A frame is one active function, or the gap left by a tail call.
type frame struct {
	fn   *lua.LFunction // nil for the gap left by a tail call
	dbg  *lua.Debug
	pc   int // of the current instruction; Lua functions only
	tail int // number of tail calls that led here
}

func (f *frame) line() int {
	if f.fn == nil || f.fn.IsG || f.pc < 0 || f.pc >= len(f.fn.Proto.DbgSourcePositions) {
		return -1
	}
	return lineOf(f.fn.Proto.DbgSourcePositions[f.pc])
}

func (f *frame) source() string {
	switch {
	case f.fn == nil:
		return "=(tail call)"
	case f.fn.IsG:
		return "=[C]"
	}
	return f.fn.Proto.SourceName
}

// where returns the position at the start of an error text, or "" where Lua has
// none.
func (f *frame) where() string {
	line := f.line()
	if line < 0 {
		return ""
	}
	return shortSource(f.fn.Proto.SourceName) + ":" + strconv.Itoa(line) + ": "
}

// stackAt returns the active function at a level, as Lua counts: 0 is the
// innermost, a tail call takes a level, a trampoline none. It is for errors
// only: it reads gopher-lua's private program counter by reflection.
func (in *interp) stackAt(L *lua.LState, level int) (frame, bool) {
	for vmLevel := 0; ; {
		dbg, ok := L.GetStack(vmLevel)
		if !ok && in.pcallCallers[L] != nil {
			L, vmLevel = in.pcallCallers[L], 0 // level goes on where pcall was called
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
		vmLevel++
		if f.fn != nil && !f.fn.IsG {
			f.pc = int(hidden.FieldByName("Pc").Int()) - 1
			f.tail = int(hidden.FieldByName("TailCall").Int())
			vmLevel += f.tail
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

func (in *interp) where(L *lua.LState, level int) string {
	f, ok := in.stackAt(L, level)
	if !ok {
		return ""
	}
	return f.where()
}

// shortSource shortens a chunk name for display to 60 bytes, with the NUL in C.
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
