package scripting

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// What things cost in Go's heap, rounded up: with their share of what a table
// or a slice keeps free, and of what growing holds twice.
const (
	tableSize    = 160
	arraySize    = 32 * valueSize // of one element and room for 31
	fieldsSize   = 2304           // of one entry and room for 31
	hashSize     = 160            // an entry outside of the array: two maps and a slice know its key
	functionSize = 128
	upvalueSize  = 64
	threadSize   = 1 << 10
	stringSize   = 24
	numberSize   = 8
	countedEach  = 64 // bytes; shorter strings are counted wherever they are met
)

// A walk counts what a script can reach.
type walk struct {
	in   *interp
	size int64
	most int64        // enough is known above it
	seen addresses    // tables, functions, threads and long strings
	to   []lua.LValue // tables, functions and threads not yet looked into
}

// held returns about how many bytes the script can reach, or any number above
// most. It costs what a collection of them would.
func (in *interp) held(most int64) int64 {
	w := walk{in: in, most: most}
	clear(in.extents)
	w.visit(in.L)
	for thread := range in.hosts {
		w.visit(thread)
	}
	for _, thread := range in.spare {
		w.visit(thread)
	}
	for _, h := range in.handlers {
		if h.thread != nil {
			w.visit(h.thread)
		}
	}
	for thread := in.L.G.CurrentThread; thread != nil; thread = thread.Parent {
		w.visit(thread)
	}
	w.value(in.env.RawGetString("KEYS"))
	w.value(in.env.RawGetString("ARGV"))
	for len(w.to) > 0 && w.size <= w.most {
		last := len(w.to) - 1
		v := w.to[last]
		w.to = w.to[:last]
		w.enter(v)
	}
	return w.size
}

// value counts a value that something holds.
func (w *walk) value(v lua.LValue) {
	switch v := v.(type) {
	case lua.LNumber:
		w.size += numberSize
	case lua.LString:
		w.size += stringSize
		// Long strings that share their bytes are counted once; parts of one string
		// in full, as in Lua each would have its own.
		if len(v) <= countedEach || w.seen.add(unsafe.Pointer(unsafe.StringData(string(v)))) {
			w.size += int64(len(v))
		}
	case *lua.LTable, *lua.LFunction, *lua.LState:
		w.visit(v)
	}
}

// visit notes what has values of its own, once.
func (w *walk) visit(v lua.LValue) {
	var p unsafe.Pointer
	switch v := v.(type) {
	case *lua.LTable:
		if v == w.in.env || v == w.in.public || w.in.sealed[v] != nil {
			return // nothing of a script's gets into them
		}
		p = unsafe.Pointer(v)
	case *lua.LFunction:
		p = unsafe.Pointer(v)
	case *lua.LState:
		if v == nil {
			return
		}
		p = unsafe.Pointer(v)
	}
	if w.seen.add(p) {
		w.to = append(w.to, v)
	}
}

// enter counts what something holds.
func (w *walk) enter(v lua.LValue) {
	switch v := v.(type) {
	case *lua.LTable:
		w.table(v)
	case *lua.LFunction:
		w.size += functionSize
		if v.Proto != nil && w.seen.add(unsafe.Pointer(v.Proto)) && v != w.in.lastMain {
			w.size += protoSize(v.Proto)
		}
		for _, up := range v.Upvalues {
			w.size += upvalueSize
			w.value(up.Value())
		}
	case *lua.LState:
		values := registers(v)
		w.size += threadSize + int64(len(values))*valueSize
		for _, value := range values {
			if value != nil {
				w.value(value)
			}
		}
	}
}

func (w *walk) table(t *lua.LTable) {
	w.size += tableSize
	if mt, ok := t.Metatable.(*lua.LTable); ok {
		w.visit(mt)
	}
	view := viewTable(t)
	w.size += int64(len(view.array))*elementSize + int64(len(view.keys))*hashSize
	if view.array != nil {
		w.size += arraySize
	}
	if view.strdict != nil {
		w.size += fieldsSize
	}
	for i, v := range view.array {
		w.value(v)
		if i%1024 == 0 && w.size > w.most {
			return
		}
	}
	// Keys stay when what was under them is removed.
	for i, key := range view.keys {
		w.value(key)
		w.value(t.RawGetH(key))
		if i%1024 == 0 && w.size > w.most {
			return
		}
	}
}
