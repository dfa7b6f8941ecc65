package doors_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/doors"
)

const windowed = `
domain: log
descriptors:
  - key: ip
    algorithm: log
    rate_limit: {unit: second, requests_per_unit: 7}
  - key: user
    limits: [{limit: 4, window: 300ms}, {limit: 9, window: 2s}]
---
domain: fixed
descriptors:
  - key: ip
    rate_limit: {unit: second, requests_per_unit: 7}
`

// A hit is what was admitted at an instant.
type hit struct{ atMs, units int64 }

// most returns the most units that a window of this length has held.
func most(hits []hit, windowMs int64) (most int64) {
	for i := range hits {
		sum := int64(0)
		for j := i; j >= 0 && hits[j].atMs > hits[i].atMs-windowMs; j-- {
			sum += hits[j].units
		}
		most = max(most, sum)
	}
	return most
}

// TestNoWindowExceedsItsLimit: whatever a door is asked, and when, no window of a policy that counts exactly
// has more than its limit. Envoy's own way, which begins anew with every second, has; so the measure sees it.
func TestNoWindowExceedsItsLimit(t *testing.T) {
	nowUs := int64(1_700_000_000_000_000)
	w := worldOf(t, windowed, clock.Sources{
		Monotonic: func() int64 { return nowUs }, Wall: func() int64 { return nowUs },
	})
	c := w.login(doors.Credentials{})
	exceeded := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 37))
		ask := func(domain, key string) (hits []hit) {
			for range 400 {
				nowUs += r.Int64N(200_000)
				units := 1 + r.Int64N(4)
				var out doors.Response
				line := fmt.Sprintf("%s %s=%d#%d", domain, key, seed, units)
				require.NoError(t, c.Decide(request(line), &out))
				if out.Code == doors.OK {
					hits = append(hits, hit{nowUs / 1000, units})
				}
			}
			return hits
		}
		ip, user := ask("log", "ip"), ask("log", "user")
		require.LessOrEqual(t, most(ip, 1000), int64(7))
		require.LessOrEqual(t, most(user, 300), int64(4))
		require.LessOrEqual(t, most(user, 2000), int64(9))
		require.Greater(t, len(ip), 50)
		require.Greater(t, len(user), 50)
		if most(ask("fixed", "ip"), 1000) > 7 {
			exceeded++
		}
	}
	require.Positive(t, exceeded)
}
