package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/server"
)

// Decisions through a gateway are counted there as a server counts its own.

// callSection returns a section of testdata/calls.cases: counted, of each command that decides, with what is
// no decision, limiter, of each function that a gateway uses, and others.
func callSection(t *testing.T, title string) scenario.Section {
	f, err := scenario.ReadFile("testdata/calls.cases")
	require.NoError(t, err)
	i := slices.IndexFunc(f.Sections, func(s scenario.Section) bool { return s.Title == title })
	return f.Sections[i]
}

// callsOf returns the commands of a section.
func callsOf(t *testing.T, title string) (lines []string) {
	for _, step := range callSection(t, title).Steps {
		lines = append(lines, step.Line)
	}
	return lines
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
	countedLines := callsOf(t, "counted")
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
