package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/server"
)

// Decisions through a gateway are counted there as a server counts its own.

// countedLines are calls of each command that decides, with what is no decision: errors, peeks, a hold that
// exists, and reads.
var countedLines = []string{
	"RL.ALLOW t1:a 1 1m", "RL.ALLOW t1:a 1 1m", "RL.ALLOW t1:a 1 1m PEEK", "RL.ALLOW t1:a 1 1m COST 0",
	"RL.ALLOW t1:a 3 1m COST 5 ATMOST", "RL.ALLOW t1:vip:a 5 1m COST 3 FULL", "RL.ALLOW t1:vip:a 5 1m 9 1h",
	"RL.ALLOW t1:f 5 1m ALGO FIXED", "RL.ALLOW t1:b 5 1m ALGO BUCKETS 6", "RL.ALLOW t1:c 5 1m ALGO COUNTER",
	"RL.ALLOW other:g 5 1m ALGO GCRA 2 COST 2", "RL.ALLOW other:g 5 1m ALGO GCRA 2 COST 2",
	"CL.THROTTLE t2:g 1 5 60", "CL.THROTTLE t2:g 1 5 60 2", "CL.THROTTLE t2:g 1 5 60 0",
	"RL.MALLOW 3 t1:m 5 1m t2:m 2 1m other 9 1m COST 2", "RL.MALLOW 2 t1:m 5 1m t2:m 2 1m",
	"RL.MALLOW 2 t1:m 5 1m t2:n 2 1m PEEK",
	"RL.RESERVE t1:r 3 1m 2 HOLD 1m ID x", "RL.RESERVE t1:r 3 1m 2 HOLD 1m ID x",
	"RL.RESERVE t1:r 3 1m 2 HOLD 1m ID y", "RL.SETTLE t1:r x 1",
	"RL.MALLOW 3 t1:m t2:f s TERM 9 1m TERM 3 1m ALGO FIXED COST 2 TERM SLOTS 2 LEASE 1m ID b",
	"RL.MALLOW 3 t1:m t2:f s TERM 9 1m TERM 3 1m ALGO FIXED COST 2 TERM SLOTS 2 LEASE 1m ID b FULL",
	"RL.ALLOW t1:a 1 1m SHADOW", "RL.ALLOW t1:vip:a 5 1m SHADOW", "RL.MALLOW 2 t1:m 5 1m t2:m 2 1m SHADOW",
	"RL.MALLOW 2 t1:m t2:f TERM 9 1m TERM 3 1m ALGO FIXED COST 4 SHADOW FULL",
	"RL.ALLOW t1:a 1 1m PEEK SHADOW",
	"RL.MALLOW 2 t1:m t2:g TERM 9 1m TERM 9 1m ALGO GCRA 9 PEEK",
	"RL.MALLOW 2 t1:m t2:h TERM 9 1m 99 1h TERM 9 1m ALGO GCRA 9 COST 3 FULL",
	"RL.MRESERVE 2 t1:m t2:f TERM 9 1m TERM 3 1m ALGO FIXED HOLD 1m ID x",
	"RL.MRESERVE 2 t1:m t2:f TERM 9 1m TERM 3 1m ALGO FIXED HOLD 1m ID x",
	"RL.MRESERVE 2 t1:m t2:f TERM 9 1m TERM 3 1m ALGO FIXED HOLD 1m ID y FULL",
	"RL.MSETTLE 2 t1:m t2:f x 1 0", "RL.RESERVE t1:b 5 1m 2 HOLD 1m ID x ALGO BUCKETS 6", "RL.CANCEL t1:b x",
	"RL.ALLOW t1:f 5 1m", "RL.ALLOW t1:a -1 1m", "RL.REFUND t1:a 1", "RL.INFO t1:a",
	"RL.ACQUIRE s 2 LEASE 1m ID a",
	"INCREX i",
}

// countingFlags make everything counted.
var countingFlags = []string{"--rl-top-sampling", "1", "--rl-stats-prefix", "t1: t1:vip: t2:"}

// countsOf returns what a server says of decisions that were counted.
func countsOf(p *rlRun, w *wire) (said []string) {
	for _, line := range []string{
		"RL.STATS", "RL.TOP HOT 100", "RL.TOP DENIED 100", "RL.TRACE LIST",
		"RL.SIM t1:a 9 1m FROM TRACE 100", "RL.SIM t1:m 9 1m FROM TRACE 100",
		"RL.SIM t1:r 9 1m FROM TRACE 100",
		"RL.SIM t2:g 9 1m ALGO GCRA 5 FROM TRACE 100",
	} {
		reply := p.call(w, line)
		if line == "RL.STATS" {
			require.NotContains(p.t, reply, "[allowed 0 denied 0") // every prefix has some
		}
		said = append(said, line+": "+strings.ReplaceAll(reply, "from_empty 1", "from_empty 0"))
	}
	return said
}

// traceKeys makes a server trace keys.
func traceKeys(p *rlRun, w *wire) {
	for _, key := range []string{"t1:a", "t1:m", "t1:r", "t2:g"} {
		require.Equal(p.t, "OK", p.call(w, "RL.TRACE ON "+key+" 100"))
	}
}

// decided returns the decisions of the metrics, without what there are none of.
func decided(srv *server.Server) string {
	var b strings.Builder
	prefixes, none, all := srv.Engine().Facts().Stats.DecisionsByPrefix()
	for i, d := range all {
		if !d.IsZero() {
			by := rl.Decider(i)
			fmt.Fprintln(&b, by.Command(), by.Algorithm(), d)
		}
	}
	fmt.Fprintln(&b, none)
	for _, p := range prefixes {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

func TestGatewayCountsDecisions(t *testing.T) {
	want := newRun(t, countingFlags...)
	want.moveTo(0)
	traceKeys(want, want.wire)
	for _, line := range countedLines {
		want.call(want.wire, line)
	}
	expected := countsOf(want, want.wire)
	send := map[string]func(g *gatewayRun){
		"one by one": func(g *gatewayRun) {
			for _, line := range countedLines {
				g.call(g.wire, line)
			}
		},
		"a pipeline": func(g *gatewayRun) { g.pipeline(countedLines...) },
		"MULTI": func(g *gatewayRun) {
			g.pipeline(append(append([]string{"MULTI"}, countedLines...), "EXEC")...)
		},
		"WATCH": func(g *gatewayRun) {
			g.pipeline(append(append([]string{"WATCH w", "MULTI"}, countedLines...), "EXEC")...)
		},
	}
	for name, run := range send {
		t.Run(name, func(t *testing.T) {
			p := newRun(t)
			p.moveTo(0)
			gateway := startGateway(t, p.srv, countingFlags...)
			gateway.Engine().Clock().Freeze()
			require.NoError(t, gateway.Engine().Clock().Set(startNowMs))
			p.wire = connect(t, gateway)
			traceKeys(p, p.wire)
			run(&gatewayRun{p, gateway})
			require.Equal(t, expected, countsOf(p, p.wire))
			require.Equal(t, decided(want.srv), decided(gateway))
		})
	}
}
