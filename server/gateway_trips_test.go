package server_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server"
)

// What decisions cost a gateway: round trips, and commands in them.

// A gatewayRun is a gateway with a connection to it.
type gatewayRun struct {
	*rlRun
	gateway *server.Server
}

// newGatewayRun starts a gateway with directives. Its first call has loaded the library.
func newGatewayRun(t *testing.T, directives ...string) *gatewayRun {
	p := newRun(t)
	p.moveTo(0)
	gateway := startGateway(t, p.srv, directives...)
	p.wire = connect(t, gateway)
	require.Equal(t, "[1 1 0 0 1000]", p.call(p.wire, "RL.ALLOW first 1 1s"))
	return &gatewayRun{p, gateway}
}

// upstreamInfo returns a number of INFO upstream.
func (g *gatewayRun) upstreamInfo(name string) int {
	n, err := strconv.Atoi(infoField(g.t, connect(g.t, g.gateway), "upstream_"+name))
	require.NoError(g.t, err)
	return n
}

// cost returns the round trips and the commands that fn makes, and the decisions that were combined.
func (g *gatewayRun) cost(fn func()) (trips, commands, combined int) {
	count := func() [3]int {
		return [3]int{g.upstreamInfo("round_trips"), g.upstreamInfo("commands"), g.upstreamInfo("combined")}
	}
	before := count()
	fn()
	after := count()
	return after[0] - before[0], after[1] - before[1], after[2] - before[2]
}

// pipeline sends lines in one piece and returns their replies.
func (g *gatewayRun) pipeline(lines ...string) (replies []string) {
	var bytes []byte
	for _, line := range lines {
		bytes = appendCommand(bytes, wordsOf(g.t, line))
	}
	require.NoError(g.t, g.wire.sendRaw(bytes))
	for range lines {
		replies = append(replies, g.reply(g.wire))
	}
	return replies
}

func TestDecisionsOfOneKeyAreCombined(t *testing.T) {
	g := newGatewayRun(t)
	var lines, want []string
	for i := range 100 {
		lines, want = append(lines, "RL.ALLOW k 60 1s"), append(want, fmt.Sprintf("[1 60 %d 0 1000]", 59-i))
		if i >= 60 {
			want[i] = "[0 60 0 1000 1000]"
		}
	}
	trips, commands, combined := g.cost(func() { require.Equal(t, want, g.pipeline(lines...)) })
	require.LessOrEqual(t, trips, 3) // one for each piece that the gateway has read
	require.LessOrEqual(t, commands, trips)
	require.Equal(t, 100, commands+combined)
	require.Equal(t, "60", g.call(g.other, "ZCARD k"))

	// Costs and options are each caller's own, and what lies between keeps its place.
	trips, commands, combined = g.cost(func() {
		require.Equal(t, []string{
			"[4 9 5 0 1000]", "[5 9 5 0 1000]", "[5 9 0 0 1000]", "2", "1", "[1 9 8 0 1000]",
			"[allowed 0 limit 9 remaining 8 retry_after_ms -1 reset_after_ms 1000 next_after_ms 1000 " +
				"used 1 algo LOG window_ms 1000]",
		}, g.pipeline(
			"RL.ALLOW j 9 1s COST 4", "RL.ALLOW j 9 1s COST 5 PEEK", "RL.ALLOW j 9 1s COST 7 ATMOST",
			"ZCARD j", "DEL j", "RL.ALLOW j 9 1s", "RL.ALLOW j 9 1s COST 10 FULL"))
	})
	require.LessOrEqual(t, trips, 3)
	require.LessOrEqual(t, commands, 3+trips)
	require.Equal(t, 7, commands+combined)
}
