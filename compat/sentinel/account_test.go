package sentinel

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// excess returns by how many units at most the calls exceed the limit in a window, as far
// as that is certain: of RL.ALLOW it is known only between which instants the server's was,
// which it takes in whole milliseconds.
func excess(a algorithm, calls []call) int {
	units := slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return !c.admitted })
	worst, first := 0, 0
	for last := range units {
		for span(a, units[first], units[last]) >= window {
			first++
		}
		worst = max(worst, last-first+1-windowLimit)
	}
	return worst
}

// span returns the longest time that can be between two units.
func span(a algorithm, first, last call) time.Duration {
	if a == script {
		return time.Duration(last.sentMs-first.sentMs) * time.Millisecond
	}
	return last.received - first.sent + time.Millisecond
}

// by returns the calls that a server has answered.
func by(calls []call, port int) []call {
	return slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return c.port != int64(port) })
}

// lost returns how many units of the ledger the old master has acknowledged and the new
// one does not know, and how many of them replicas had confirmed. members is what the new
// one has of a script. RL.ALLOW has no names for its units, but a limiter asks about one at
// a time, so those that the new master does not know are the last.
func lost(l *limiter, old, promoted int, members map[string]bool) (units, confirmed int) {
	before := by(l.calls, old)
	known := int64(len(before))
	if after := by(l.calls, promoted); len(after) > 0 {
		known = after[0].ledgerUsed - 1
	}
	for i, c := range before {
		if l.algorithm == script && members[c.unit] || l.algorithm == rlAllow && int64(i) < known {
			continue
		}
		units++
		if c.confirmed {
			confirmed++
		}
	}
	return units, confirmed
}

// silence returns the longest time between two replies.
func silence(calls []call) time.Duration {
	longest := time.Duration(0)
	for i := 1; i < len(calls); i++ {
		longest = max(longest, calls[i].received-calls[i-1].received)
	}
	return longest
}

// admitted returns calls that admit a unit every so often.
func admitted(n int, every time.Duration) []call {
	calls := make([]call, n)
	for i := range calls {
		at := time.Duration(i) * every
		calls[i] = call{
			unit: string(rune('a' + i)), sent: at, received: at, sentMs: at.Milliseconds(),
			port: 1, admitted: true, confirmed: true,
		}
	}
	return calls
}

// TestExcess: one unit too many is found, and a window is half open.
func TestExcess(t *testing.T) {
	for _, a := range []algorithm{script, rlAllow} {
		calls := admitted(windowLimit+1, window/windowLimit)
		require.Equal(t, 0, excess(a, calls), a)
		calls[windowLimit].sentMs--
		calls[windowLimit].received -= time.Millisecond + 1
		require.Equal(t, 1, excess(a, calls), a)
		calls[3].admitted = false
		require.Equal(t, 0, excess(a, calls), a)
		require.Equal(t, 60-windowLimit, excess(a, admitted(60, time.Millisecond)), a)
	}
}

// TestLost: units that the new master does not know are found.
func TestLost(t *testing.T) {
	scripted := &limiter{algorithm: script, calls: admitted(5, time.Millisecond)}
	all := map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true}
	units, confirmed := lost(scripted, 1, 2, all)
	require.Equal(t, []int{0, 0}, []int{units, confirmed})
	delete(all, "d")
	scripted.calls[4].confirmed = false
	delete(all, "e")
	units, confirmed = lost(scripted, 1, 2, all)
	require.Equal(t, []int{2, 1}, []int{units, confirmed})

	after := call{port: 2, ledgerUsed: 6}
	allow := &limiter{algorithm: rlAllow, calls: append(admitted(5, time.Millisecond), after)}
	units, _ = lost(allow, 1, 2, nil)
	require.Equal(t, 0, units)
	allow.calls[5].ledgerUsed = 4
	units, confirmed = lost(allow, 1, 2, nil)
	require.Equal(t, []int{2, 2}, []int{units, confirmed})
}

// TestSilence: the longest pause counts.
func TestSilence(t *testing.T) {
	calls := admitted(5, time.Millisecond)
	calls[4].received += time.Second
	require.Equal(t, time.Second+time.Millisecond, silence(calls))
}
