package scripting

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

func (e *Engine) eval(c *commands.Ctx) resp.Value      { return e.evalSource(c, false) }
func (e *Engine) evalRO(c *commands.Ctx) resp.Value    { return e.evalSource(c, true) }
func (e *Engine) evalSHA(c *commands.Ctx) resp.Value   { return e.evalDigest(c, false) }
func (e *Engine) evalSHARO(c *commands.Ctx) resp.Value { return e.evalDigest(c, true) }

func (e *Engine) evalSource(c *commands.Ctx, readOnly bool) resp.Value {
	if !readOnly && rl.AddRun(c) {
		return resp.Null
	}
	keys, args, refusal := splitKeys(c.Args)
	if refusal != "" {
		return resp.Error(refusal)
	}
	s, err := e.foundScript(c)
	if s == nil && err == nil {
		s, err = e.scripts.evaluate(c.Args[1])
	}
	if err != nil {
		return resp.Error("ERR " + err.Error())
	}
	return e.run(c, s, readOnly, keys, args)
}

func (e *Engine) evalDigest(c *commands.Ctx, readOnly bool) resp.Value {
	if len(c.Args[1]) != len(digest{}) {
		return resp.Error(errNoScript)
	}
	keys, args, refusal := splitKeys(c.Args)
	if refusal != "" {
		return resp.Error(refusal)
	}
	s, missing := e.foundScript(c)
	if s == nil && missing == nil {
		s = e.scripts.lookupArg(c.Args[1])
	}
	if s == nil {
		return resp.Error(errNoScript)
	}
	return e.run(c, s, readOnly, keys, args)
}

func (e *Engine) run(c *commands.Ctx, s *script, readOnly bool, keys, args [][]byte) resp.Value {
	if text := e.runRefusal(c, s.flags, readOnly); text != "" {
		return resp.Error(text)
	}
	if c.Mode.Is(commands.OutOfMemory) && s.flags.allowOOM {
		c.Mode.Set(commands.OutOfMemory, false)
		defer c.Mode.Set(commands.OutOfMemory, true)
	}
	in := e.acquireInterp()
	reply := in.run(c, s, readOnly || s.flags.noWrites, keys, args)
	reply = e.handleViolation(c, s, &in.locks, reply)
	e.releaseInterp(in)
	return reply
}

// foundScript returns the result of locksOfSource or locksOfDigest, and nils if
// they were not called, as in EXEC.
func (e *Engine) foundScript(c *commands.Ctx) (*script, error) {
	switch found := c.Remembered().(type) {
	case *script:
		return found, nil
	case error:
		return nil, found
	}
	return nil, nil
}

func splitKeys(args [][]byte) (keys, rest [][]byte, refusal string) {
	n, ok := store.ParseInt(args[2])
	switch {
	case !ok:
		return nil, nil, errNotInteger
	case n > int64(len(args)-3):
		return nil, nil, errTooManyKeys
	case n < 0:
		return nil, nil, errNegativeKeys
	}
	return args[3 : 3+n], args[3+n:], ""
}
