package lua

import (
	"strings"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// A State is a Lua world: globals, metatables and threads. One goroutine may
// use it at a time.
type State struct {
	Meter
	// Host is for the program that runs scripts.
	Host any
	// Globals is the environment of the chunks that Load returns.
	Globals *Table
	// Random generates the numbers of math.random.
	Random Random
	// MaxTokens limits the sources that scripts load; 0 for none.
	MaxTokens int

	bindings   *Bindings
	bound      []Value // by index of bindings; nil where there is none
	main       *Thread
	current    *Thread
	stringMeta *Table
	arena      arena
	recent     recentNumber
	goCalls    int // nested calls from Go into Lua, in all threads
	mark       uint32
	buffer     []byte // output of library functions
}

// A Meter bounds what scripts use. The machine counts down Steps at each call
// and each turn of a loop, and Room by what it allocates; only at zero it calls
// the host.
type Meter struct {
	Steps int
	Room  int64
	// Granted is the Room that the run began with.
	Granted int64
	// Poll grants new Steps or returns why the script must end, which no pcall
	// catches. A nil Poll grants everything.
	Poll func() (stop string)
	// Measure grants Room for n more bytes, or returns the error. Reachable
	// counts what the script holds. A nil Measure grants everything.
	Measure func(n int64) (failure string)

	scratch int64
}

// bytesPerStep is a lower bound of the bytes copied in the time of a step.
const bytesPerStep = 128

// longText is the length from which on comparing strings is charged, and valuesPerStep how many values are
// copied in the time of a step.
const (
	longText      = 4 << 10
	valuesPerStep = 16
)

// unlimited is what a Meter without functions grants.
const unlimited = 1 << 60

// Step charges n units of work: about one for each turn of a loop.
func (L *Thread) Step(n int) {
	if L.state.Steps -= n; L.state.Steps < 0 {
		L.poll()
	}
}

func (L *Thread) poll() {
	s := L.state
	if s.Poll == nil {
		s.Steps = unlimited
		return
	}
	if stop := s.Poll(); stop != "" {
		L.Fatal(stop)
	}
}

// Grow charges an allocation of n bytes before it is made, and the time to fill
// it.
func (L *Thread) Grow(n int) {
	if n >= bytesPerStep {
		L.Step(n / bytesPerStep)
	}
	if L.state.Room -= int64(n); L.state.Room < 0 {
		L.measure(int64(n))
	}
}

func (L *Thread) measure(n int64) {
	s := L.state
	if s.Measure == nil {
		s.Room = unlimited
		return
	}
	if failure := s.Measure(n); failure != "" {
		L.Throw(String(failure))
	}
}

// GrowScratch is Grow for memory that a GoFunction holds while it calls Lua,
// where Reachable does not find it. ReleaseScratch gives it back; an error gives
// back all of it.
func (L *Thread) GrowScratch(n int) {
	L.state.scratch += int64(n)
	L.Grow(n)
}

// ReleaseScratch ends what GrowScratch began.
func (L *Thread) ReleaseScratch(n int) { L.state.scratch -= int64(n) }

// Scratch returns the bytes charged by GrowScratch.
func (m *Meter) Scratch() int64 { return m.scratch }

// NewState returns a state with no globals. See OpenLibraries.
func NewState() *State {
	s := &State{Globals: NewTable(0, 0)}
	s.main = newThread(s)
	s.main.status = threadRunning
	s.current = s.main
	return s
}

// Main returns the thread in which the host calls functions.
func (s *State) Main() *Thread { return s.main }

// SetStringMetatable gives strings a metatable.
func (s *State) SetStringMetatable(meta *Table) { s.stringMeta = meta }

// StringMetatable returns the metatable of strings, or nil.
func (s *State) StringMetatable() *Table { return s.stringMeta }

// NewClosure returns a function that runs a chunk with the globals of the state.
func (s *State) NewClosure(p *Proto) *Function { return &Function{proto: p, env: s.Globals} }

// Load compiles a source to a function. name is that of its chunk: "@" and a file, "=" and a text, or the
// source.
func (s *State) Load(source, name string) (*Function, error) {
	source = strings.Clone(source) // constants are parts of it
	c, err := syntax.Parse(source, name, s.MaxTokens)
	if err != nil {
		return nil, err
	}
	p, err := Compile(c, name, s.bindings)
	if err != nil {
		return nil, err
	}
	p.setLoaded()
	return s.NewClosure(p), nil
}

func (p *Proto) setLoaded() {
	p.loaded = true
	for _, inner := range p.protos {
		inner.setLoaded()
	}
}
