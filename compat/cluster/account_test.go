package cluster

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// excess returns by how many units the calls exceed the limit in some window, as far as that is certain:
// the instant of a decision is only known to be between the call and its reply. A unit is in every window
// that has all of that time.
func excess(calls []call) int {
	units := slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return !c.admitted })
	slices.SortFunc(units, func(a, b call) int { return cmp.Compare(a.sent, b.sent) })
	worst := -windowLimit
	for i, first := range units {
		n := 0
		for _, one := range units[i:] {
			if one.sent-first.sent >= window {
				break
			}
			if one.received-first.sent+time.Millisecond < window { // the server takes whole milliseconds
				n++
			}
		}
		worst = max(worst, n-windowLimit)
	}
	return worst
}

// acknowledged returns how many units of the ledger callers were granted, and how many calls have failed
// which may have been granted one.
func acknowledged(calls []call) (units, unknown int64) {
	for _, c := range calls {
		switch {
		case c.ledger:
			units++
		case c.err != nil:
			unknown++
		}
	}
	return units, unknown
}

// waits returns the longest time that a call of some tags took, and the longest that a caller was without
// a reply that is no error.
func (d *load) waits(of func(tag int) bool) (longest, silence time.Duration) {
	for _, c := range d.callers {
		if !of(c.tag) {
			continue
		}
		last := time.Duration(-1)
		for _, one := range c.calls {
			longest = max(longest, one.received-one.sent)
			if one.err != nil {
				continue
			}
			if last >= 0 {
				silence = max(silence, one.received-last)
			}
			last = one.received
		}
	}
	return longest, silence
}

// errorKinds counts the errors of calls of some tags.
func (d *load) errorKinds(of func(tag int) bool) map[string]int {
	counts := map[string]int{}
	for _, c := range d.callers {
		if !of(c.tag) {
			continue
		}
		for _, one := range c.calls {
			for _, kind := range kinds(one.err) {
				counts[kind]++
			}
		}
	}
	return counts
}

// made returns calls that were admitted so long after each other.
func made(n int, every time.Duration) []call {
	calls := make([]call, n)
	for i := range calls {
		at := time.Duration(i) * every
		calls[i] = call{sent: at, received: at, admitted: true, ledger: true}
	}
	return calls
}

// TestExcess: one unit too many is found, and a window is half open.
func TestExcess(t *testing.T) {
	calls := made(windowLimit+1, window/windowLimit)
	require.Equal(t, 0, excess(calls))
	calls[windowLimit].sent -= 2 * time.Millisecond
	calls[windowLimit].received -= 2 * time.Millisecond
	require.Equal(t, 1, excess(calls))
	calls[3].admitted = false
	require.Equal(t, 0, excess(calls))
	require.Equal(t, 60-windowLimit, excess(made(60, time.Millisecond)))
	late := made(60, time.Millisecond)
	for i := range late {
		late[i].received = 2 * window // nobody knows when they were decided
	}
	require.Negative(t, excess(late))
}

// TestAcknowledged: units and calls without an answer are counted.
func TestAcknowledged(t *testing.T) {
	calls := append(made(5, time.Millisecond), call{err: errors.New("a failure")}, call{})
	units, unknown := acknowledged(calls)
	require.Equal(t, []int64{5, 1}, []int64{units, unknown})
}
