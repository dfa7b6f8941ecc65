package scripting

// The flags of a script say before it runs whether it writes, and Redis pauses
// or refuses it accordingly. A script without a shebang line, or one that does
// not exist, declares nothing.

func (f flags) declares() (writes, ok bool) { return f.declared && !f.noWrites, f.declared }

func (e *Engine) sourceDeclares(args [][]byte) (writes, ok bool) {
	f, _, err := parseShebang(string(args[1]))
	if err != nil {
		return false, false
	}
	return f.declares()
}

func (e *Engine) digestDeclares(args [][]byte) (writes, ok bool) {
	if d, good := parseDigest(args[1]); good {
		if s := e.scripts.lookup(d); s != nil {
			return s.flags.declares()
		}
	}
	return false, false
}

// functionDeclares is the Declares function of FCALL. Every function has flags.
func (e *Engine) functionDeclares(args [][]byte) (writes, ok bool) {
	f := e.library.lookup(string(args[1]))
	if f == nil {
		return false, false
	}
	return !f.noWrites, true
}
