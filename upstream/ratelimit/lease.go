package ratelimit

import "github.com/zlimit/zlimit/limiter"

// leaseLen is the number of integers of a decision with a lease; see lease in log.lua.
const leaseLen = decisionLen + 3

// replyLen returns the number of integers of the function's reply, if it is one decision.
func (k *Call) replyLen() int {
	if k.function == "lease" {
		return leaseLen
	}
	return decisionLen
}

// Leasable reports whether WithLease accepts the call: it takes units from a log under one limit, all
// or none.
func (k *Call) Leasable() bool {
	return k.function == "log" && len(k.limit.Quotas) == 1 && !k.peek && !k.limit.AtMost
}

// Cost returns the units that the call asks for.
func (k *Call) Cost() int64 { return k.cost }

// WithLease returns the call with a lease: if it is admitted, it takes further units in advance, a
// share in percent of those that remain, but at most a number. They may be granted for a time in
// milliseconds from when the call is sent, and count until a window after that time. Such a call
// combines with no other.
func (k *Call) WithLease(sharePercent, aheadMs, most int64) *Call {
	q := k.limit.Quotas[0]
	with := *k
	with.function, with.decides, with.peekable = "lease", false, false
	with.args = [][]byte{
		number(q.Limit), number(q.WindowMs), number(sharePercent), number(aheadMs), number(most),
		number(k.cost), number(k.options),
	}
	return &with
}

// Lease returns the decision in the reply to a call with a lease, and the units taken in advance.
// Remaining and ResetAfterMs are those after the lease. It reports false for an error.
func (k *Call) Lease(raw []byte) (d limiter.Decision, units int64, ok bool) {
	var buf [leaseLen]item
	n, ok := numbers(buf[:0], raw)
	if !ok || len(n) != leaseLen || !known(n) || n[0].n < 0 {
		return d, 0, false
	}
	d = k.decisionOf(n)
	d.Remaining, d.ResetAfterMs = n[decisionLen+1].n, n[decisionLen+2].n
	return d, n[decisionLen].n, true
}
