package lua

// A CallSite is a call of a bound function in a source, with as many arguments as
// there are expressions. Constants are not loaded into registers, nor are locals
// copied to them.
type CallSite struct {
	// Args are the arguments.
	Args []SiteArg
	// Data is what the host has prepared for the call; nil makes it an ordinary one.
	Data any

	bound int    // the index of the function's binding
	field bool   // whether that is a field
	name  string // its last name, for errors
}

// A SiteArg is an argument at a CallSite: a constant, or what is in a register.
type SiteArg struct {
	Constant Value // a string or a number; nil if there is none
	Register uint8
}

// Registers are those of a Lua function.
type Registers = [window]Value

// A SiteFunction does what a GoFunction does, at a CallSite with Data, without a frame. Its
// one result is not used if wanted is 0. If raise is true, it is the error.
type SiteFunction func(L *Thread, site *CallSite, r *Registers, wanted int) (result Value, raise bool)

// SetSiteFunction makes calls at prepared sites use fn.
func (f *Function) SetSiteFunction(fn SiteFunction) { f.host.atSite = fn }

// PrepareSites calls prepare for each CallSite of p and its inner functions. It must be done
// before p is shared.
func (p *Proto) PrepareSites(prepare func(*CallSite)) {
	for i := range p.sites {
		prepare(&p.sites[i])
	}
	for _, inner := range p.protos {
		inner.PrepareSites(prepare)
	}
}

// raiseAtSite raises an error as if the function at the site had a frame. It returns if there is a pcall.
func (L *Thread) raiseAtSite(fn *Function, at int, err Value) {
	f := L.pushFrame()
	*f = frame{fn: fn, result: at, base: at + 1}
	L.raise(err)
}

// spreadArgs makes a call at a site an ordinary one: it puts the function and its arguments
// into the registers from at on.
func (L *Thread) spreadArgs(site *CallSite, env *Table, base, at int) {
	fn := L.boundValue(env, site.bound)
	L.stack[at] = fn
	for i := range site.Args {
		arg := &site.Args[i]
		if arg.Constant.kind != KindNil {
			L.stack[at+1+i] = arg.Constant
		} else if from := base + int(arg.Register); from != at+1+i {
			L.stack[at+1+i] = L.stack[from]
		}
	}
	L.top = at + 1 + len(site.Args)
}
