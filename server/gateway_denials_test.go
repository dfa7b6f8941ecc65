package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireTrips requires that a call makes a number of round trips, and a reply that begins so: waits
// are in the gateway's time.
func (g *gatewayRun) requireTrips(trips int, line, reply string) {
	g.t.Helper()
	var got string
	made, _, _ := g.cost(func() { got = g.call(g.wire, line) })
	require.True(g.t, strings.HasPrefix(got, reply), "%s: %s", line, got)
	require.Equal(g.t, trips, made, line)
}

func TestDenialsAreAnsweredHere(t *testing.T) {
	g := newGatewayRun(t, "--rl-deny-cache", "user: 86400000")
	const call, denied = "RL.ALLOW user:1 1 1h", "[0 1 0 3"
	g.requireTrips(1, call, "[1 1 0 0 3600000]")
	g.requireTrips(1, call, denied)
	for range 20 {
		g.requireTrips(0, call, denied)
	}
	g.requireTrips(0, call+" PEEK", denied)
	g.requireTrips(1, call+" COST 2", "[0 1 0 -1")
	g.requireTrips(1, call+" COST 2", "[0 1 0 -1") // it does not end
	g.requireTrips(1, "RL.ALLOW other 1 1h", "[1 1")
	g.requireTrips(1, "RL.ALLOW other 1 1h", denied)
	g.requireTrips(1, "RL.ALLOW other 1 1h", denied)
	require.Equal(t, 21, g.upstreamInfo("answered_here"))

	// FULL says where the answer is from.
	g.requireTrips(1, call+" FULL", "[allowed 0 limit 1 remaining 0 retry_after_ms 3")
	got := g.call(g.wire, call+" FULL")
	require.Contains(t, got, "window_ms 3600000 source deny-cache]")

	// A raised limit is another call; the old one stays denied.
	g.requireTrips(1, "RL.ALLOW user:1 2 1h", "[1 2 0 0 3600000]")
	g.requireTrips(1, call, "[0 1 0 3")
	g.requireTrips(0, call, denied)

	g.requireTrips(1, "CL.THROTTLE user:g 0 1 3600", "[0 1 0 -1 3600]")
	g.requireTrips(1, "CL.THROTTLE user:g 0 1 3600", "[1 1 0 3600 3600]")
	g.requireTrips(0, "CL.THROTTLE user:g 0 1 3600", "[1 1 0 3")
}

// TestDenialsEndWithWhatAdmitsSooner: every way to give units back through this gateway.
func TestDenialsEndWithWhatAdmitsSooner(t *testing.T) {
	g := newGatewayRun(t, "--rl-deny-cache", `"" 86400000`)
	for _, back := range [][]string{
		{"RL.REFUND k 1"},
		{"RL.RESET k"},
		{"DEL k"},
		{"FLUSHALL"},
		{"FLUSHDB"},
		{"ZREMRANGEBYRANK k 0 -1"},
		{"MULTI", "ZADD other 1 a", "RL.RESET k", "EXEC"},
		{"RENAME k j"},
		{"UNLINK k"},
		{"PEXPIRE k 0"},
		{`EVAL "return redis.call('DEL',KEYS[1])" 1 k`},
		{"WATCH w", "MULTI", "DEL k", "EXEC"},
		{`EVAL "return redis.call('DEL','k')" 0`},
		{"BZPOPMIN k 0"},
	} {
		g.call(g.other, "FLUSHALL")
		g.call(g.wire, "DEL none k")
		call := "RL.ALLOW k 1 1h"
		g.requireTrips(1, call, "[1 1 0 0 3600000]")
		g.requireTrips(1, call, "[0 1 0 3")
		g.requireTrips(0, call, "[0 1 0 3")
		for _, line := range back {
			g.call(g.wire, line)
		}
		g.requireTrips(1, call, "[1 1 0 0 3600000]")
	}

	// In one pipeline, too.
	g.requireTrips(1, "RL.ALLOW k 1 1h", "[0 1 0 3")
	g.requireTrips(0, "RL.ALLOW k 1 1h", "[0 1 0 3")
	require.Equal(t, []string{"1", "[1 1 0 0 3600000]"}, g.pipeline("RL.RESET k", "RL.ALLOW k 1 1h"))

	// What a settled hold gives back is in the log.
	g.requireTrips(1, "RL.RESERVE h 2 1h 2 HOLD 1h ID a", "[2 2 0 0 3600000]")
	g.requireTrips(1, "RL.ALLOW h 2 1h", "[0 2 0 3")
	g.requireTrips(0, "RL.ALLOW h 2 1h", "[0 2 0 3")
	g.requireTrips(1, "RL.SETTLE h a 1", "[1 0]")
	g.requireTrips(1, "RL.ALLOW h 2 1h", "[1 2 0 0 3600000]")
}
