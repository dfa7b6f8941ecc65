package scripting

import "github.com/zlimit/zlimit/commands"

// The flags of a script say before it runs whether it writes, whether it needs memory, and
// whether stale data will do, and Redis pauses or refuses it accordingly. A script without a shebang
// line, or one that does not exist, declares nothing.

// declares returns the flags that a script has as a command. As in Redis, one that
// writes nothing needs no memory.
func (f flags) declares() (flags commands.Flags, ok bool) {
	if f.writes() {
		flags |= commands.Write
	}
	if f.writes() && !f.allowOOM {
		flags |= commands.DenyOOM
	}
	if f.allowStale {
		flags |= commands.Stale
	}
	return flags, f.declared
}

func (e *Engine) sourceDeclares(args [][]byte) (flags commands.Flags, ok bool) {
	f, _, err := parseShebang(string(args[1]))
	if err != nil {
		return 0, false
	}
	return f.declares()
}

func (e *Engine) digestDeclares(args [][]byte) (flags commands.Flags, ok bool) {
	if d, good := parseDigest(args[1]); good {
		if s := e.scripts.lookup(d); s != nil {
			return s.flags.declares()
		}
	}
	return 0, false
}

// functionDeclares is the Declares function of FCALL. Every function has flags.
func (e *Engine) functionDeclares(args [][]byte) (flags commands.Flags, ok bool) {
	f := e.library.lookup(string(args[1]))
	if f == nil {
		return 0, false
	}
	return f.script.flags.declares()
}
