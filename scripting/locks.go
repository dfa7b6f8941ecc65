package scripting

import (
	"errors"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A lockChecker keeps a script from the shards that are not locked for it.
// Scripts proven by proof.go never reach one. If the proof is wrong, a script
// that has not written is restarted with every shard locked. One that has
// written fails with an error; this is counted as a violation and must not
// happen.
type lockChecker struct {
	unlocked store.ShardSet
	wrote    bool // the script called a command that may write
	violated bool // the script used a shard that is not locked, and must end
}

// allows reports whether cmd may run now.
func (lc *lockChecker) allows(cmd *commands.Command, args [][]byte) bool {
	if lc.unlocked == 0 {
		return true
	}
	lc.violated = lc.violated || cmd.Shards(args)&lc.unlocked != 0
	lc.wrote = lc.wrote || !lc.violated && cmd.Flags&(commands.Write|commands.MayReplicate) != 0
	return !lc.violated
}

// handleViolation returns reply, unless the script used a shard that is not
// locked.
func (e *Engine) handleViolation(c *commands.Ctx, s *script, lc *lockChecker, reply resp.Value) resp.Value {
	if !lc.violated {
		return reply
	}
	if c.Mode.Is(commands.MayRetry) && !lc.wrote {
		e.restarts.Add(1)
		c.Errors = commands.ErrorsUncounted
		c.Retry = true
		return resp.None
	}
	e.violations.Add(1)
	c.Errors = commands.ErrorsUncounted
	e.logf("script %s: a key was used that is not among its KEYS, though they were thought to be all: "+
		"please report this", s.sha)
	return resp.Error(errNotLocked)
}

// locksOf returns the shards of the script's keys if it is proven to use no
// others, or else all.
func (s *script) locksOf(keys [][]byte) store.ShardSet {
	if !s.proof.Proven() {
		return store.AllShards
	}
	var set store.ShardSet
	for _, key := range keys {
		set |= store.ShardOf(key)
	}
	return set
}

// locksOfSource is commands.Command.Locks of EVAL. It compiles a new script
// while nothing is locked. c is nil for the commands of an EXEC.
func (e *Engine) locksOfSource(c *commands.Ctx, args [][]byte) store.ShardSet {
	keys, _, refusal := splitKeys(args)
	if refusal != "" {
		return 0
	}
	s := e.scripts.lookupSource(args[1])
	if s == nil {
		if c == nil {
			return store.AllShards // an earlier command of the EXEC may load it
		}
		var err error
		if s, err = e.scripts.evaluate(args[1]); err != nil {
			c.Remember(err)
			return 0
		}
	}
	if c != nil {
		c.Remember(s)
	}
	return s.locksOf(keys)
}

var errMissing = errors.New("no such script") // never shown

// locksOfDigest is commands.Command.Locks of EVALSHA.
func (e *Engine) locksOfDigest(c *commands.Ctx, args [][]byte) store.ShardSet {
	keys, _, refusal := splitKeys(args)
	if refusal != "" || len(args[1]) != len(digest{}) {
		return 0
	}
	s := e.scripts.lookupArg(args[1])
	switch {
	case s != nil && c != nil:
		c.Remember(s)
	case s == nil && c == nil:
		return store.AllShards // an earlier command of the EXEC may load it
	case s == nil:
		c.Remember(errMissing)
		return 0
	}
	return s.locksOf(keys)
}
