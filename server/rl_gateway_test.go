package server_test

import (
	"fmt"
	"testing"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/server"
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
	race.OneGoroutine(t)
	scenarios := rlScenarios(t)
	for i, path := range gatewayPaths {
		t.Run(path.name, func(t *testing.T) {
			t.Parallel()
			servers := newServers(t)
			for _, scenario := range scenarios {
				paths := len(gatewayPaths)
				switch {
				case beyondFunctions[scenario.name] != "":
					paths = 0
				case scenario.name == "the largest COST": // a million commands of the function
					paths = 1
				case scenario.topic == topTopic, scenario.name == "RL.SIM's refusals",
					scenario.name == withoutLimit:
					paths = 3 // what runs here is in no MULTI with what runs upstream
				}
				if i >= paths {
					continue
				}
				t.Run(scenario.name, func(t *testing.T) {
					runThroughGateway(t, servers, path, scenario)
				})
			}
		})
	}
}

// runThroughGateway runs a scenario on a gateway over a server, which has the library after the first.
func runThroughGateway(t *testing.T, servers *rlServers, path rlPath, scenario rlScenario) {
	p := servers.newRun(t, scenario)
	gateway := servers.gateway(upstreamURL(p.srv), scenario)
	gateway.Engine().Clock().Freeze()
	p.wire = connect(t, gateway)
	p.setClock = func(nowMs int64) error {
		_ = p.srv.Engine().Clock().Set(nowMs) // an instant that is too early is refused
		return gateway.Engine().Clock().Set(nowMs)
	}
	p.run(path, scenario)
}

// startGateway runs a server whose upstream is another one.
func startGateway(t *testing.T, upstream *server.Server, directives ...string) *server.Server {
	return startGatewayTo(t, upstreamURL(upstream), directives...)
}

func upstreamURL(srv *server.Server) string { return "redis+single://" + srv.Addr().String() }

// startGatewayTo runs a server with an upstream.
func startGatewayTo(t *testing.T, url string, directives ...string) *server.Server {
	return start(t, gatewayArgs(url, directives...)...)
}

// gatewayArgs are the directives of a gateway. The time for a reply is that of a COST of a million, which is
// a million members of a sorted set.
func gatewayArgs(url string, directives ...string) []string {
	return append([]string{
		"--bind", "127.0.0.1", "--upstream", url, "--upstream-timeout", "60000",
		"--upstream-max-units", "1000000",
	}, directives...)
}

// TestLinearizableThroughGateways: two gateways, whose callers are those of one server.
func TestLinearizableThroughGateways(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			requireLinearizable(t, recordHistory(t, seed, 2))
		})
	}
}

// withoutLimit is calls of RL.CHECK that a gateway answers itself, and so not in MULTI with what it forwards.
const withoutLimit = "RL.CHECK: without a limit"

// topTopic is the scenarios of what a server counts itself.
const topTopic = "top"
