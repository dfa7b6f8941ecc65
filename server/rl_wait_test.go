package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// atOnce are calls with WAIT that are answered at once, since there is room or never will be.
var atOnce = [][2]string{
	{"RL.ALLOW k 2 1s WAIT 24855d", "[1 2 1 0 1000 0]"},
	{"RL.ALLOW k 2 1s wait 1 FULL", "[allowed 1 limit 2 remaining 0 retry_after_ms 0 reset_after_ms 1000 " +
		"next_after_ms 1000 used 2 algo LOG window_ms 1000 waited_ms 0]"},
	{"RL.ALLOW k 2 1s WAIT 1s COST 3", "[0 2 0 -1 1000 0]"},
	{"RL.ALLOW k 0 1s WAIT 1s", "[0 0 0 -1 1000 0]"},
	{"RL.ALLOW b 1 1s WAIT 1s ALGO BUCKETS 10", "[1 1 0 0 1099 0]"},
	{"RL.ALLOW p 5 1s COST 9 ATMOST WAIT 1s", "[5 5 0 0 1000 0]"},
	{"RL.MALLOW 2 j b TERM 2 1s TERM 5 1s ALGO BUCKETS 10 COST 4 WAIT 1s", "[2 4 5 0 0 1099 0]"},
	{
		"RL.MALLOW 2 j b TERM 2 1s TERM 5 1s ALGO BUCKETS 10 COST 6 WAIT 1s FULL",
		"[2 [1 2 1 0 1000] [0 5 0 -1 1099] 0]",
	},
	{"RL.MALLOW 1 s TERM SLOTS 0 LEASE 1s ID a WAIT 1s", "[1 0 0 0 -1 0 0]"},
	{"RL.ACQUIRE s 1 LEASE 1s ID a WAIT 1s", "[1 1 1 1000 0]"},
	{"RL.ACQUIRE s 1 WAIT 1s ID a LEASE 2s", "[1 1 1 2000 0]"}, // it has the slot
	{"RL.ACQUIRE s 0 ID b WAIT 1s LEASE 1s", "[0 1 0 -1 0]"},
}

// inMulti are calls behind atOnce that wait, but not in a transaction.
var inMulti = [][2]string{
	{"RL.ALLOW k 2 1s WAIT 1s", "[0 2 0 1000 1000 0]"},
	{"RL.MALLOW 2 j k TERM 9 1s TERM 2 1s WAIT 1s", "[2 0 2 0 1000 1000 0]"},
	{"RL.ACQUIRE s 1 WAIT 1s ID b LEASE 1s", "[0 1 1 2000 0]"},
}

func stepsOf(lines [][2]string) (steps []rlStep) {
	for _, l := range lines {
		steps = append(steps, rlStep{line: l[0], want: l[1]})
	}
	return steps
}

// What a call with WAIT answers at once it answers on every path but in scripts and through gateways, which
// refuse it and take nothing.
func TestWaitOnEveryPath(t *testing.T) {
	const script = "ERR WAIT is not allowed from scripts"
	const elsewhere = "ERR WAIT is not served here: the keys are upstream, where nothing tells when they " +
		"change"
	for _, path := range rlPaths {
		t.Run(path.name, func(t *testing.T) {
			p := newRun(t)
			p.moveTo(0)
			if path.proto == 3 {
				p.call(p.wire, "HELLO 3")
			}
			steps := stepsOf(atOnce)
			if strings.Contains(path.name, "MULTI") {
				steps = stepsOf(append(atOnce, inMulti...))
			}
			refused := strings.Contains(path.name, "EVAL")
			for i, got := range path.send(p, steps) {
				want := steps[i].want
				if refused {
					want = script
				}
				require.Equal(t, want, got, steps[i].line)
			}
			if refused {
				require.Empty(t, p.keyspace())
			}
		})
	}
	for _, path := range gatewayPaths {
		t.Run(path.name, func(t *testing.T) {
			p := newRun(t)
			p.moveTo(0)
			p.wire = connect(t, startGateway(t, p.srv))
			for i, got := range path.send(p, stepsOf(atOnce)) {
				require.Equal(t, elsewhere, got, atOnce[i][0])
			}
			require.Empty(t, p.keyspace())
		})
	}
}
