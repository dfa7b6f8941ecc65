package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// granted returns how many units a reply of RL.ALLOW grants.
func granted(t *testing.T, reply string) (n int) {
	t.Helper()
	_, err := fmt.Sscanf(reply, "[%d ", &n)
	require.NoError(t, err, reply)
	return n
}

func TestLeasedUnitsAreGrantedHere(t *testing.T) {
	g := newGatewayRun(t, "--rl-lease", "hot: 50 86400000")
	const call = "RL.ALLOW hot:1 1000 1h"
	trips, _, _ := g.cost(func() {
		for i := range 1000 {
			require.Equal(t, 1, granted(t, g.call(g.wire, call)), "%d", i)
		}
		require.Zero(t, granted(t, g.call(g.wire, call)))
	})
	require.Less(t, trips, 60)
	require.Equal(t, "1000", g.call(g.other, "ZCARD hot:1"))
	require.Equal(t, 1000-(trips-1), g.upstreamInfo("leased_units"))

	// FULL says where the answer is from. Units count until a window after the lease.
	require.NotContains(t, g.call(g.wire, "RL.ALLOW hot:2 9 1h FULL"), "source")
	reply := g.call(g.wire, "RL.ALLOW hot:2 9 1h FULL")
	require.True(t, strings.HasPrefix(reply, "[allowed 1 limit 9 remaining 7 retry_after_ms 0"), reply)
	require.True(t, strings.HasSuffix(reply, "used 2 algo LOG window_ms 3600000 source lease]"), reply)
	require.Equal(t, "[1700000000000000 1700086400000000]", g.call(g.other, "ZRANGE hot:2 0 1"))
	require.Equal(t, "90000000", g.call(g.other, "PTTL hot:2"))

	// Only calls under one limit that take units take leases.
	for _, other := range []string{
		"RL.ALLOW hot:3 9 1h PEEK", "RL.ALLOW hot:3 9 1h 99 2h", "RL.ALLOW hot:3 9 1h COST 2 ATMOST",
		"RL.ALLOW cold:3 9 1h", "RL.MALLOW 1 hot:3 9 1h",
	} {
		g.requireTrips(1, other, "[")
	}
	require.Equal(t, "4", g.call(g.other, "ZCARD hot:3"))
}

// TestLeaseEndsWithItsKey: what a gateway holds of a key ends with a command that changes the key.
func TestLeaseEndsWithItsKey(t *testing.T) {
	g := newGatewayRun(t, "--rl-lease", "hot: 50 86400000")
	const call = "RL.ALLOW hot:1 10 1h"
	for _, back := range []string{"RL.RESET hot:1", "DEL hot:1", "FLUSHALL"} {
		require.Equal(t, 1, granted(t, g.call(g.wire, call)))
		g.requireTrips(0, call, "[1 10 ")
		g.call(g.wire, back)
		total := 0
		for range 30 {
			total += granted(t, g.call(g.wire, call))
		}
		require.Equal(t, 10, total, back)
		g.call(g.wire, back)
	}
}

// TestGatewaysWithLeasesShareALimit: whatever gateway is asked, and though one of them ends with units
// in its hands.
func TestGatewaysWithLeasesShareALimit(t *testing.T) {
	g := newGatewayRun(t, "--rl-lease", "hot: 30 86400000")
	second := connect(t, startGateway(t, g.srv, "--rl-lease", "hot: 60 86400000"))
	third := startGateway(t, g.srv, "--rl-lease", "hot: 60 86400000")
	lost := connect(t, third)
	const call = "RL.ALLOW hot:1 500 1h"
	total := 0
	for i := range 600 {
		total += granted(t, g.call(g.wire, call)) + granted(t, g.call(second, call))
		if i < 40 {
			total += granted(t, g.call(lost, call))
		}
		if i == 40 {
			require.NoError(t, third.Close())
		}
	}
	held := g.upstreamInfo("leased_units")
	require.LessOrEqual(t, total, 500)
	require.Less(t, 300, total)
	require.Positive(t, held)
	require.Equal(t, "500", g.call(g.other, "ZCARD hot:1"))
	// The lost units come back with the window.
	p := g.rlRun
	p.moveTo(86_400_000 + 3_600_000)
	require.Equal(t, "[500 500 0 0 3600000]", g.call(g.other, "RL.ALLOW hot:1 500 1h COST 500"))
}
