package server_test

import (
	"testing"
)

// The scenarios of RL.* run through a gateway, too: a server whose upstream is the server with the
// keys.

// gatewayPaths are ways to call a gateway.
var gatewayPaths = []rlPath{
	{"gateway", nil, sendEach, 2},
	{"gateway over RESP3", nil, sendEach, 3},
	{"pipeline to a gateway", func(a, b rlStep) bool {
		return a.atMs == b.atMs && a.mayChange() == b.mayChange()
	}, sendPipeline, 2},
	{"MULTI to a gateway", func(a, b rlStep) bool {
		return a.atMs == b.atMs && a.mayChange() == b.mayChange()
	}, sendMulti, 2},
}

func TestGatewayOnEveryPath(t *testing.T) {
	skip := countedHere()
	for _, scenario := range rlScenarios() {
		if skip[scenario.name] || beyondFunctions[scenario.name] != "" {
			continue
		}
		t.Run(scenario.name, func(t *testing.T) {
			for _, path := range gatewayPaths {
				t.Run(path.name, func(t *testing.T) {
					t.Parallel()
					p := newRun(t, scenario.flags...)
					gateway := start(t, append([]string{
						"--bind", "127.0.0.1", "--upstream", "redis+single://" + p.srv.Addr().String(),
					}, scenario.flags...)...)
					p.wire = dialRL(t, gateway)
					p.run(path, scenario)
				})
			}
		})
	}
}

// countedHere returns the names of scenarios of what a server counts itself.
func countedHere() map[string]bool {
	names := make(map[string]bool)
	for _, scenario := range rlTop() {
		names[scenario.name] = true
	}
	return names
}
