package scripting

import (
	"errors"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A guard stands between a script and the shards that are not locked for it.
// What proof.go has proven never meets it. Should it err, a script that has not
// written yet begins again with every shard locked; one that has ends with an
// error, which is counted as a breach and must not happen.
type guard struct {
	unheld store.ShardSet
	wrote  bool // a command was called that may write
	missed bool // the script wanted a shard that is not held: it has to end
}

// admits reports whether cmd may run now.
func (g *guard) admits(cmd *commands.Command, args [][]byte) bool {
	if g.unheld == 0 {
		return true
	}
	g.missed = g.missed || cmd.Shards(args)&g.unheld != 0
	g.wrote = g.wrote || !g.missed && cmd.Flags&(commands.Write|commands.MayReplicate) != 0
	return !g.missed
}

// settle returns what a script answers whose guard may have missed something.
func (e *Engine) settle(c *commands.Ctx, s *script, g *guard, reply resp.Value) resp.Value {
	if !g.missed {
		return reply
	}
	if c.MayRetry && !g.wrote {
		e.restarts.Add(1)
		c.Errors = commands.ErrorsOpen
		c.Retry = true
		return resp.None
	}
	e.breaches.Add(1)
	c.Errors = commands.ErrorsOpen
	e.logf("script %s: a key was used that is not among its KEYS, though they were thought to be all: please report this", s.sha)
	return resp.Error(errNotLocked)
}

// locksOf says which shards a script needs: those of its keys where they are
// proven to be all that it uses, or every one.
func (s *script) locksOf(keys [][]byte) store.ShardSet {
	if !s.verdict.proven() {
		return store.AllShards
	}
	var set store.ShardSet
	for _, key := range keys {
		set |= store.ShardOf(key)
	}
	return set
}

// locksOfSource is commands.Command.Locks of EVAL. A new script is compiled
// here, while nothing is locked.
func (e *Engine) locksOfSource(c *commands.Ctx, args [][]byte) store.ShardSet {
	keys, _, refusal := split(args)
	if refusal != "" {
		return 0
	}
	s := e.scripts.findSource(args[1])
	if s == nil {
		if c == nil {
			return store.AllShards // it may have been loaded by then
		}
		var err error
		if s, err = e.scripts.evaluate(args[1]); err != nil {
			c.Found = err
			return 0
		}
	}
	if c != nil {
		c.Found = s
	}
	return s.locksOf(keys)
}

var errMissing = errors.New("no such script") // its text is never shown

// locksOfDigest is commands.Command.Locks of EVALSHA.
func (e *Engine) locksOfDigest(c *commands.Ctx, args [][]byte) store.ShardSet {
	keys, _, refusal := split(args)
	d, ok := parseDigest(args[1])
	if refusal != "" || !ok {
		return 0
	}
	s := e.scripts.find(d)
	switch {
	case s != nil && c != nil:
		c.Found = s
	case s == nil && c == nil:
		return store.AllShards // it may have been loaded by then
	case s == nil:
		c.Found = errMissing
		return 0
	}
	return s.locksOf(keys)
}
