package scripting

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

func (e *Engine) scriptLoad(c *commands.Ctx) resp.Value {
	s, err := e.scripts.load(c.Args[2])
	if err != nil {
		return resp.Error("ERR " + err.Error())
	}
	return resp.Bulk(s.sha)
}

func (e *Engine) scriptExists(c *commands.Ctx) resp.Value {
	elems := c.Values(len(c.Args) - 2)
	for _, arg := range c.Args[2:] {
		n := int64(0)
		if d, ok := parseDigest(arg); ok && e.scripts.lookup(d) != nil {
			n = 1
		}
		elems = append(elems, resp.Int(n))
	}
	return resp.Array(elems...)
}

func (e *Engine) scriptFlush(c *commands.Ctx) resp.Value {
	switch {
	case len(c.Args) == 2:
	case len(c.Args) == 3 && (isWord(c.Args[2], "sync") || isWord(c.Args[2], "async")):
	default:
		return resp.Error(errFlushOption)
	}
	e.scripts.flush()
	return resp.OK
}

// scriptKill ends scripts past busy-reply-threshold. Before that clients wait,
// and no script counts as running.
func (e *Engine) scriptKill(*commands.Ctx) resp.Value { return e.killRuns(runScript) }

func (e *Engine) killRuns(kind runKind) resp.Value {
	if refusal := e.runs.kill(kind); refusal != "" {
		return resp.Error(refusal)
	}
	return resp.OK
}

// scriptDebug accepts NO, the only mode.
func (e *Engine) scriptDebug(c *commands.Ctx) resp.Value {
	if isWord(c.Args[2], "no") {
		return resp.OK
	}
	return resp.Error(errDebugOption)
}

func (e *Engine) scriptHelp(c *commands.Ctx) resp.Value {
	return helpReply(c, scriptHelpText)
}

const scriptHelpText = `SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
DEBUG (YES|SYNC|NO)
    Set the debug mode for subsequent scripts executed.
EXISTS <sha1> [<sha1> ...]
    Return information about the existence of the scripts in the script cache.
FLUSH [ASYNC|SYNC]
    Flush the Lua scripts cache. Very dangerous on replicas.
    When called without the optional mode argument, the behavior is determined by the
    lazyfree-lazy-user-flush configuration directive. Valid modes are:
    * ASYNC: Asynchronously flush the scripts cache.
    * SYNC: Synchronously flush the scripts cache.
KILL
    Kill the currently executing Lua script.
LOAD <script>
    Load a script into the scripts cache without executing it.
HELP
    Prints this help.`

func isWord(arg []byte, word string) bool { return strings.EqualFold(string(arg), word) }
