package lua

import "math"

// An Entry is a function of a library.
type Entry struct {
	Name string
	Fn   GoFunction
}

// Register adds functions to a table, in this order.
func (s *State) Register(t *Table, entries []Entry) {
	for _, e := range entries {
		t.SetString(e.Name, FunctionValue(s.main.NewFunction(e.Fn)))
	}
}

// standardLibraries are the tables of Lua 5.1's library without those that reach the system, in the order
// in which C Lua opens them.
var standardLibraries = []struct {
	name    string
	entries []Entry
}{
	{"table", tableLibrary},
	{"string", stringLibrary},
	{"math", mathLibrary},
	{"coroutine", coroutineLibrary},
}

// OpenLibraries defines the standard library in the globals: the basic functions but those that read files
// or print, and the tables table, string, math and coroutine. String values get their methods.
func (s *State) OpenLibraries() {
	g := s.Globals
	g.SetString("_G", TableValue(g))
	g.SetString("_VERSION", String("Lua 5.1"))
	s.openBase()
	for _, lib := range standardLibraries {
		t := NewTable(0, len(lib.entries))
		s.Register(t, lib.entries)
		g.SetString(lib.name, TableValue(t))
		switch lib.name {
		case "math":
			t.SetString("pi", Number(math.Pi))
			t.SetString("huge", Number(math.Inf(1)))
			t.SetString("mod", t.GetString("fmod"))
		case "string":
			t.SetString("gfind", t.GetString("gmatch"))
			meta := NewTable(0, 1)
			meta.SetString("__index", TableValue(t))
			s.SetStringMetatable(meta)
		}
	}
	s.setDirect()
}
