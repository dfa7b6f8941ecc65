package scripting

// What a call's script says of itself in its flags, before it runs: Redis holds
// and refuses it by that. Scripts without a first line of flags say nothing, and
// no more does what will not be found.

func (f flags) declares() (writes, ok bool) { return f.declared && !f.noWrites, f.declared }

// sourceDeclares is for EVAL.
func (e *Engine) sourceDeclares(args [][]byte) (writes, ok bool) {
	f, _, err := parseShebang(string(args[1]))
	if err != nil {
		return false, false
	}
	return f.declares()
}

// digestDeclares is for EVALSHA.
func (e *Engine) digestDeclares(args [][]byte) (writes, ok bool) {
	if d, good := parseDigest(args[1]); good {
		if s := e.scripts.find(d); s != nil {
			return s.flags.declares()
		}
	}
	return false, false
}

// functionDeclares is for FCALL. Every function has flags.
func (e *Engine) functionDeclares(args [][]byte) (writes, ok bool) {
	f := e.library.find(string(args[1]))
	if f == nil {
		return false, false
	}
	return !f.noWrites, true
}
