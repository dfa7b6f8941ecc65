package migration

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// truncation is by how much an instant in whole milliseconds may be early.
const truncation = time.Millisecond

// units returns how many calls were admitted, and how many have failed.
func units(calls []call) (admitted, failed int64) {
	for _, one := range calls {
		switch {
		case one.err != nil:
			failed++
		case one.admitted:
			admitted++
		}
	}
	return admitted, failed
}

// ledgerFault returns an error unless a client's ledger has admitted exactly its limit, and
// what was reported as remaining has gone down by one with each unit.
func ledgerFault(c *client) error {
	admitted, failed := units(c.ledger)
	least := int64(ledgerLimit)
	if c.steps {
		least -= failed
	}
	if admitted < least || admitted > ledgerLimit {
		return fmt.Errorf("%s: %d units were admitted, and %d calls failed", c.name, admitted, failed)
	}
	used := int64(0)
	for i, one := range c.ledger {
		if one.err != nil || !one.admitted {
			continue
		}
		used++
		step := ledgerLimit - used - one.remaining
		rounded := c.algorithm == gcra && step == 1 // by a library that divides
		if one.remaining != unreported && step != 0 && !rounded {
			return fmt.Errorf("%s: call %d reports %d remaining units after %d", c.name, i, one.remaining,
				used)
		}
	}
	return nil
}

// windowFault returns an error if it is certain that a client was admitted more often than
// its algorithm promises, wherever between a call's beginning and its end the decision was.
func windowFault(c *client, begin time.Time) error {
	if n := account(c.algorithm, c.window, begin); n > 0 {
		return fmt.Errorf("%s: %d units too many in a window", c.name, n)
	}
	return nil
}

// account returns how many units too many there certainly are, or are at least.
func account(a algorithm, calls []call, begin time.Time) int {
	// A failed call of a limiter in steps may have begun a window.
	taken := slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return c.err == nil && !c.admitted })
	admitted := slices.DeleteFunc(slices.Clone(taken), func(c call) bool { return c.err != nil })
	switch a {
	case slidingWindow:
		return slidingExcess(admitted)
	case fixedWindow:
		return fixedExcess(taken)
	case slicedWindow:
		return slicedExcess(admitted, begin)
	case gcra:
		return gcraExcess(admitted)
	default:
		return 0
	}
}

// slidingExcess returns by how many units a window has more than the limit.
func slidingExcess(calls []call) int {
	worst, first := 0, 0
	for last := range calls {
		for calls[last].received-calls[first].sent+truncation >= window {
			first++
		}
		worst = max(worst, last-first+1-windowLimit)
	}
	return worst
}

// fixedExcess returns 1 if there are no windows that explain the calls: each begins with a
// call, no sooner than the one before has ended, and admits no more than the limit. Where the
// instants leave it open to which of two windows a call belongs, it is followed in both.
func fixedExcess(calls []call) int {
	type open struct{ first, units int } // a window: the call that began it, and its units so far
	possible := []open{{first: -1}}
	for i, one := range calls {
		var next []open
		begins := false
		for _, w := range possible {
			over := w.first < 0 || one.received+truncation >= calls[w.first].sent+window
			lasts := w.first >= 0 && one.sent < calls[w.first].received+window
			begins = begins || over
			switch {
			case one.err != nil:
				next = append(next, w)
			case lasts && w.units < windowLimit:
				next = append(next, open{w.first, w.units + 1})
			}
		}
		switch {
		case begins && one.err != nil:
			next = append(next, open{i, 0})
		case begins:
			next = append(next, open{i, 1})
		}
		if len(next) == 0 {
			return 1
		}
		possible = next
	}
	return 0
}

// slicedExcess returns by how many units a slice has more than the limit.
func slicedExcess(calls []call, begin time.Time) int {
	bySlice := map[int64]int{}
	worst := 0
	for _, one := range calls {
		first := begin.Add(one.sent).UnixMilli() / window.Milliseconds()
		if begin.Add(one.received).UnixMilli()/window.Milliseconds() == first {
			bySlice[first]++
			worst = max(worst, bySlice[first]-windowLimit)
		}
	}
	return worst
}

// gcraExcess returns by how many units there are more in some time than the limit and one for
// each of its parts of the window that has passed.
func gcraExcess(calls []call) int {
	const interval = window / windowLimit
	worst := 0
	for first := range calls {
		for last := first; last < len(calls); last++ {
			regained := int((calls[last].received - calls[first].sent + truncation) / interval)
			worst = max(worst, last-first+1-windowLimit-regained)
		}
	}
	return worst
}

// every returns calls that were admitted so long after each other.
func every(d time.Duration, n int) []call {
	calls := make([]call, n)
	for i := range calls {
		at := time.Duration(i) * d
		calls[i] = call{sent: at, received: at + truncation, admitted: true, remaining: unreported}
	}
	return calls
}

// burst returns n calls at the same time, admitted.
func burst(at time.Duration, n int) []call {
	calls := every(0, n)
	for i := range calls {
		calls[i].sent, calls[i].received = at, at+truncation
	}
	return calls
}

// TestWindowFaults: a limiter that restarts its window in its middle is found; windows that
// follow each other are not, and neither are denied and failed calls.
func TestWindowFaults(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000) // a multiple of the window
	failure := errors.New("a failure")
	denied := call{sent: window / 4, received: window / 4}
	failed := call{sent: window / 4, received: window / 4, err: failure}
	sound := map[algorithm][]call{
		slidingWindow: every(window/windowLimit, 5*windowLimit),
		fixedWindow: slices.Concat(burst(0, 1), burst(window-3*truncation, windowLimit-1),
			burst(window, windowLimit), burst(2*window, windowLimit)),
		slicedWindow: slices.Concat(burst(window-3*truncation, windowLimit), burst(window, windowLimit)),
		gcra:         slices.Concat(burst(0, windowLimit), every(window/windowLimit, 3*windowLimit)[1:]),
	}
	for a, calls := range sound {
		require.Zero(t, account(a, calls, begin), a)
		doubled := slices.Concat(calls, burst(calls[len(calls)-1].received, windowLimit+1))
		require.Positive(t, account(a, doubled, begin), a)

		restarted := slices.Concat(burst(0, windowLimit), []call{denied, failed},
			burst(window/2, windowLimit))
		require.Positive(t, account(a, restarted, begin), a)
		require.Zero(t, account(a, restarted[:windowLimit+2], begin), a)
		require.Zero(t, account(approximate, restarted, begin))
	}
	// A failed call may have begun a window.
	unknown := slices.Concat(burst(0, windowLimit), []call{{sent: window, received: window, err: failure}},
		burst(window+window/2, windowLimit), burst(2*window, windowLimit))
	require.Zero(t, account(fixedWindow, unknown, begin))
	unknown[windowLimit].err = nil
	require.Positive(t, account(fixedWindow, unknown, begin))
}

// TestLedgerFault: a unit more or less is found, and a step in what remains.
func TestLedgerFault(t *testing.T) {
	c := &client{ledger: every(time.Second, ledgerLimit)}
	for i := range c.ledger {
		c.ledger[i].remaining = int64(ledgerLimit - 1 - i)
	}
	require.NoError(t, ledgerFault(c))
	c.ledger[ledgerLimit/2].remaining++
	require.ErrorContains(t, ledgerFault(c), "remaining")
	c.ledger[ledgerLimit/2].remaining -= 2
	require.ErrorContains(t, ledgerFault(c), "remaining")
	c.ledger[ledgerLimit/2].remaining = unreported
	require.NoError(t, ledgerFault(c))
	c.ledger = append(c.ledger, call{admitted: true})
	require.ErrorContains(t, ledgerFault(c), "61 units")
	c.ledger = c.ledger[:ledgerLimit]
	c.ledger[ledgerLimit-1].err = errors.New("a failure")
	require.ErrorContains(t, ledgerFault(c), "59 units")
	c.steps = true
	require.NoError(t, ledgerFault(c))
}

// TestQuietSeconds: no multiple is within ten minutes.
func TestQuietSeconds(t *testing.T) {
	for now := int64(1_700_000_000); now < 1_700_000_000+4_000_000; now += 97 {
		seconds := quietSeconds(now)
		require.Less(t, seconds, int64(2_000_000))
		require.Equal(t, (now-600)/seconds, (now+600)/seconds)
	}
}
