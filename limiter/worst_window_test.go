package limiter

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write docs/worst-window.md anew")

const worstWindowPage = "../docs/worst-window.md"

// worstOf plays a history and returns the worst true count of its window in hundredths
// of the limit, rounded up.
func worstOf(seed uint64, m machine, how motion) (hundredths int64) {
	h := newHistory(seed, m)
	worst := int64(0)
	for range 80 {
		if how != held {
			h.move(how)
		}
		if d := m.decide(h.nowMs, h.q, h.call()); d.Units > 0 {
			worst = max(worst, h.admit(d.Units))
		}
	}
	return ceil(100*worst, h.q.Limit)
}

// TestWorstWindow plays random histories under every algorithm and compares the results
// with the page. LOG and BUCKETS must keep the promise. The same histories find FIXED
// and GCRA well above it, which shows that they are able to.
func TestWorstWindow(t *testing.T) {
	const seeds = 150
	var page strings.Builder
	page.WriteString(`# The worst window

How many units each algorithm admitted at worst in any window, as a share of the limit, over random histories
(limits of 1 to 20, windows of a millisecond to a minute). LOG and BUCKETS never admit more than the limit.
When the clock steps back, an admission counts at the latest instant that any admission saw
([adr/0004](adr/0004-the-promise-when-the-clock-steps-back.md)).

| ALGO | clock held | clock going forwards | forwards and back |
|---|---|---|---|
`)
	for _, kind := range machines {
		fmt.Fprintf(&page, "| %s |", kind.name)
		for _, how := range []motion{held, forwards, anyway} {
			worst := int64(0)
			for seed := range uint64(seeds) {
				worst = max(worst, worstOf(seed, kind.new(), how))
			}
			switch {
			case kind.exact || how == held:
				require.EqualValues(t, 100, worst, "%s, seeds 0 to %d", kind.name, seeds-1)
			default:
				require.Greater(t, worst, int64(150), "%s: the histories are too tame", kind.name)
				require.LessOrEqual(t, worst, int64(200), kind.name)
			}
			fmt.Fprintf(&page, " %d.%02d |", worst/100, worst%100)
		}
		page.WriteString("\n")
	}
	page.WriteString(`
BUCKETS pays with delay: with n buckets a unit counts for up to 1/n of the window longer. FIXED can admit
the whole limit at the end of one slice and again at the beginning of the next. COUNTER assumes that the
units of the previous slice came evenly: if all of them came at its end, almost the whole limit is
admitted again. GCRA admits its burst at once and the limit's rate meanwhile; a smaller burst makes the
worst window smaller.

Written by ` + "`go test ./limiter -run WorstWindow -rewrite`" + `, compared by ` + "`go test ./limiter`" + `.
`)
	if *rewrite {
		require.NoError(t, os.WriteFile(worstWindowPage, []byte(page.String()), 0o644))
	}
	have, err := os.ReadFile(worstWindowPage)
	require.NoError(t, err)
	require.Equal(t, page.String(), string(have))
}
