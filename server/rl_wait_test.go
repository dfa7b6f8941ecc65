package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stepsOf returns the commands of a section of testdata/calls.cases, with their replies.
func stepsOf(t *testing.T, title string) (steps []rlStep) {
	for _, s := range callSection(t, title).Steps {
		want, _ := s.Want()
		steps = append(steps, rlStep{line: s.Line, want: want})
	}
	return steps
}

// What a call with WAIT answers at once it answers on every path but in scripts and through gateways, which
// refuse it and take nothing.
func TestWaitOnEveryPath(t *testing.T) {
	atOnce := stepsOf(t, "answered at once")
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
			steps := atOnce
			if strings.Contains(path.name, "MULTI") {
				steps = slices.Concat(atOnce, stepsOf(t, "at once in MULTI"))
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
			for i, got := range path.send(p, atOnce) {
				require.Equal(t, elsewhere, got, atOnce[i].line)
			}
			require.Empty(t, p.keyspace())
		})
	}
}
