package commands

import "github.com/zlimit/zlimit/resp"

// A Stepper runs a part of a command of the flag Stepwise with one shard locked. It
// returns the error reply if that is impossible now, or resp.None.
type Stepper interface {
	Step(shard int, fn func()) resp.Value
}

// Step calls fn with a shard locked, and c.DB being the selected database: in EXEC and
// scripts every shard is; otherwise the others are unlocked meanwhile, so that other
// clients wait for a part of a long walk only. If it returns an error, the command
// returns it.
func (c *Ctx) Step(shard int, fn func()) resp.Value {
	if !c.Unheld.Has(shard) {
		fn()
		return resp.None
	}
	return c.Env.Caller.(Stepper).Step(shard, fn)
}
