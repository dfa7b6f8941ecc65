package lua

// A GoFunction is a function of the host. Its arguments are L.Get(1) to
// L.Get(L.Top()). It pushes its results and returns how many there are, or what
// Raise or Yield returns.
type GoFunction func(L *Thread) int

// A directFunction is called without a frame. It reports false for an argument
// that it leaves to the GoFunction.
type directFunction func(L *Thread, v *Value) (result Value, ok bool)

// A Function is a closure: of a Proto, or of a GoFunction.
type Function struct {
	proto    *Proto // nil for a GoFunction
	upvalues []*upvalue
	env      *Table
	host     *hostFunction // nil for a closure of a Proto
	mark     uint32        // the last measurement that has counted it
	iterator iterator
}

// A hostFunction is what a GoFunction has besides.
type hostFunction struct {
	native   GoFunction
	atSite   SiteFunction   // does what native does at prepared call sites; may be nil
	direct   directFunction // does what native does for most single arguments; may be nil
	catch    CatchFunction  // of a pcall; see NewPCall
	captured []Value        // what it keeps alive
	single   bool           // it always has one result
}

// IsGo reports whether f is a GoFunction.
func (f *Function) IsGo() bool { return f.proto == nil }

// Env returns the table of f's globals.
func (f *Function) Env() *Table { return f.env }

// SetEnv replaces it.
func (f *Function) SetEnv(env *Table) { f.env = env }

// Proto returns what f was compiled to, or nil for a GoFunction.
func (f *Function) Proto() *Proto { return f.proto }

// A Proto is a compiled function. It is read-only and may be shared by States.
type Proto struct {
	Source      string // the name of the chunk; see ShortSource
	LineDefined int    // 0 for a main chunk
	code        []instruction
	lines       []int32 // by instruction
	constants   []Value
	protos      []*Proto
	locals      []localInfo
	upvalueDesc []upvalueDesc
	sites       []CallSite
	params      int
	registers   int
	vararg      bool
	usesArg     bool // declares `arg`, which holds the extra arguments
	loaded      bool // by a script, whose memory it is
}

// A localInfo tells in which instructions a local is in scope. They are in the
// order of declaration, so the nth in scope is in register n.
type localInfo struct {
	name       string
	start, end int
}

// An upvalueDesc tells where a closure finds a variable of an enclosing
// function: in a register of the function that makes it, or among its upvalues.
type upvalueDesc struct {
	name     string
	local    bool
	register int
}

// An upvalue is a variable that a closure shares. While the function that
// declared it runs, it is in a register: v points there, and to closed
// afterwards.
type upvalue struct {
	v      *Value
	closed Value
	next   *upvalue // with a lower index
	index  int32    // in the stack, while it is open
	mark   uint32
}
