package scripting

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// Sizes of objects in Go's heap, rounded up. They include a share of the spare
// capacity of tables and slices, and of the old copy while they grow.
const (
	tableSize         = 160
	arraySize         = 32 * valueSize // one element and room for 31
	fieldsSize        = 2304           // one entry and room for 31
	hashSize          = 160            // an entry outside of the array, whose key is in two maps and a slice
	functionSize      = 128
	upvalueSize       = 64
	threadSize        = 1 << 10
	stringSize        = 24
	numberSize        = 8
	maxUnsharedString = 64 // shorter strings are counted at every reference
)

// A heapWalk adds up the memory that a script can reach.
type heapWalk struct {
	in      *interp
	size    int64
	limit   int64        // the walk may stop above it
	seen    addressSet   // tables, functions, threads and long strings counted so far
	pending []lua.LValue // tables, functions and threads to scan
}

// reachableBytes estimates the bytes that the script can reach, or stops above
// limit. It costs as much as their collection.
func (in *interp) reachableBytes(limit int64) int64 {
	w := heapWalk{in: in, limit: limit}
	clear(in.extents)
	w.visit(in.L)
	for thread := range in.pcallCallers {
		w.visit(thread)
	}
	for _, thread := range in.spareThreads {
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
	w.countValue(in.env.RawGetString("KEYS"))
	w.countValue(in.env.RawGetString("ARGV"))
	for len(w.pending) > 0 && w.size <= w.limit {
		last := len(w.pending) - 1
		v := w.pending[last]
		w.pending = w.pending[:last]
		w.scan(v)
	}
	return w.size
}

func (w *heapWalk) countValue(v lua.LValue) {
	switch v := v.(type) {
	case lua.LNumber:
		w.size += numberSize
	case lua.LString:
		w.size += stringSize
		// Long strings that share their bytes are counted once. Parts of a
		// string count in full, because in Lua each would be a copy.
		if len(v) <= maxUnsharedString || w.seen.add(unsafe.Pointer(unsafe.StringData(string(v)))) {
			w.size += int64(len(v))
		}
	case *lua.LTable, *lua.LFunction, *lua.LState:
		w.visit(v)
	}
}

// visit queues a table, function or thread for scanning, once.
func (w *heapWalk) visit(v lua.LValue) {
	var p unsafe.Pointer
	switch v := v.(type) {
	case *lua.LTable:
		if v == w.in.env || v == w.in.public || w.in.sealed[v] != nil {
			return // scripts cannot store anything in them
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
		w.pending = append(w.pending, v)
	}
}

func (w *heapWalk) scan(v lua.LValue) {
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
			w.countValue(up.Value())
		}
	case *lua.LState:
		values := registers(v)
		w.size += threadSize + int64(len(values))*valueSize
		for _, value := range values {
			if value != nil {
				w.countValue(value)
			}
		}
	}
}

func (w *heapWalk) table(t *lua.LTable) {
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
		w.countValue(v)
		if i%1024 == 0 && w.size > w.limit {
			return
		}
	}
	// A key stays after its value is removed.
	for i, key := range view.keys {
		w.countValue(key)
		w.countValue(t.RawGetH(key))
		if i%1024 == 0 && w.size > w.limit {
			return
		}
	}
}
