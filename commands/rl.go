package commands

import (
	"errors"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// RateLimits are the rate limit commands, which Redis does not have: each makes a
// limiter's decision in one step, on the server's clock.
var RateLimits = slices.Concat(rlAllowRows, rlKeyRows, rlAdoptRows, rlExplainRows, rlThrottleRows, rlHoldRows,
	rlLeaseRows, rlTopRows, rlSimRows, increxRows)

// decisionReply returns the reply of RL.ALLOW: the units granted (0 if denied), the
// limit, the units remaining, the milliseconds after which the same call is
// admitted (0 if it was, -1 if the cost exceeds the limit), and the milliseconds
// until the window is empty.
func decisionReply(c *Ctx, d *limiter.Decision) resp.Value {
	return resp.Array(append(c.Values(5),
		resp.Int(d.Allowed), resp.Int(d.Limit), resp.Int(d.Remaining),
		resp.Int(d.RetryAfterMs), resp.Int(d.ResetAfterMs))...)
}

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
