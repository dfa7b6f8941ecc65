// Package rl has the rate limit commands, RL.* and CL.THROTTLE, which Redis does not have: each makes a
// decision of package limiter in one step, on the server's clock. An algorithm is a file with its row, its
// state in the store, and the arguments of its Lua function; algorithm.go lists them.
//
// This package is internal to zlimit: it may change in any release.
package rl

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// Commands are the rows of the commands.
var Commands = own(slices.Concat(rlAllowRows, rlKeyRows, rlAdoptRows, rlExplainRows, rlThrottleRows,
	rlHoldRows, rlCheckRows, rlLeaseRows, rlTopRows, rlSimRows))

// own sets the deviation of the rows that have no other one.
func own(rows []commands.Command) []commands.Command {
	for i := range rows {
		if rows[i].Deviation == "" {
			rows[i].Deviation = "zlimit's own"
		}
	}
	return rows
}

// key returns the KeySpec of a first argument that is a key.
func key(flags string) []commands.KeySpec {
	return []commands.KeySpec{{Flags: flags, First: 1, Step: 1}}
}

// DecisionReply returns the reply of RL.ALLOW: the units granted (0 if denied), the
// limit, the units remaining, the milliseconds after which the same call is
// admitted (0 if it was, -1 if the cost exceeds the limit), and the milliseconds
// until the window is empty; of a call with WAIT also how long it has waited.
func DecisionReply(c *commands.Ctx, d *limiter.Decision, waitMs int64) resp.Value {
	return resp.Array(waited(c, waitMs, append(c.Values(6),
		resp.Int(d.Allowed), resp.Int(d.Limit), resp.Int(d.Remaining),
		resp.Int(d.RetryAfterMs), resp.Int(d.ResetAfterMs)))...)
}
