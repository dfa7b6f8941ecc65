package server_test

import (
	"fmt"
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
