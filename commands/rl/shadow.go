package rl

import "github.com/zlimit/zlimit/limiter"

// SHADOW tries a limit on live traffic. A call that would be denied takes no units, as every denied one, is
// counted as neither admitted nor denied, and is answered as admitted: see docs/adr/0053.

// admitShadow makes a denial the answer to an admitted call of this cost. What else it says stays: its wait,
// which is never 0, marks the reply.
func admitShadow(d *limiter.Decision, cost int64) {
	if d.Allowed == 0 {
		d.Allowed = max(cost, 1)
	}
}

// isShadow returns 1 for a denial that is answered as admitted, else 0.
func isShadow(d *limiter.Decision) int64 {
	if d.RetryAfterMs != 0 {
		return 1
	}
	return 0
}
