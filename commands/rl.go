package commands

import (
	"errors"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// RateLimits are the commands that Redis does not have: a whole limiter's
// decision in one step, on the server's clock.
var RateLimits = slices.Concat(rlAllowRows, rlKeyRows, rlThrottleRows, rlHoldRows, rlLeaseRows, increxRows)

// five answers a decision as RL.ALLOW does: the units granted (0: denied), the
// limit, the units remaining, the wait in milliseconds after which the same
// call is admitted (0: it was; -1: the cost is above the limit), and the
// milliseconds until the window is empty.
func five(c *Ctx, d *limiter.Decision) resp.Value {
	return resp.Array(append(c.Values(5),
		resp.Int(d.Allowed), resp.Int(d.Limit), resp.Int(d.Remaining),
		resp.Int(d.RetryAfterMs), resp.Int(d.ResetAfterMs))...)
}

// rlError is the reply for an error of package limiter.
func rlError(c *Ctx, err error) resp.Value {
	if errors.Is(err, limiter.ErrLimitUnits) {
		return resp.Error("ERR limit must be at most rl-log-max-units (" +
			strconv.FormatInt(c.Settings.RLLogMaxUnits, 10) + ")" + insteadOfLog)
	}
	for _, row := range rlErrors {
		if errors.Is(err, row.err) {
			return row.reply
		}
	}
	panic("commands: no reply for " + err.Error())
}
