package zlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
)

// The clock, with the real sources and read without a pause, stays close to the system's and never goes back.
func TestSystemClock(t *testing.T) {
	const slackUs = 2000
	c := zlimit.SystemClock()
	begin := time.Now()
	last, worst := c.NowUs(), int64(0)
	for i := 0; time.Since(begin) < 500*time.Millisecond; i++ {
		if i%500 == 0 { // some thousands of times a second
			c.Sync()
		}
		before := time.Now().UnixMicro()
		us := c.NowUs()
		after := time.Now().UnixMicro()
		if us < last || us < before-slackUs || us > after+slackUs {
			t.Fatalf("%d us, %d after the reading before, between %d and %d of the system", us, us-last,
				before, after)
		}
		last, worst = us, max(worst, before-us, us-after)
	}
	t.Logf("outside of two readings of the system's clock by at most %d us", worst)
	require.LessOrEqual(t, worst, int64(slackUs))
}
