package server_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
)

// The scenarios of RL.* run through a gateway over redis-server, too: one, and a cluster of three.

// TestScenariosOverRedis skips where redis-server or libfaketime is not installed.
func TestScenariosOverRedis(t *testing.T) {
	race.OneGoroutine(t)
	if err := oracle.Find(); err != nil {
		t.Skip(err)
	}
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		r := oracle.StartFor(t, oracle.Options{NowMs: startNowMs, Args: patient})
		for _, path := range gatewayPaths {
			if path.name != "gateway" && path.name != "MULTI to a gateway" {
				continue // the others differ before the upstream
			}
			t.Run(path.name, func(t *testing.T) {
				runOverRedis(t, path, "redis+single://"+r.Addr(), r.SetClock, rlScenarios(t))
			})
		}
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c, err := oracle.StartCluster(oracle.Options{NowMs: startNowMs, Args: patient}, 3)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		scenarios := rlScenarios(t)
		for i := range scenarios {
			// Keys that policies make are each in a slot of its own.
			if !hasOneKey(scenarios[i]) && scenarios[i].topic != checkTopic {
				scenarios[i] = tagged(scenarios[i])
			}
		}
		runOverRedis(t, gatewayPaths[0], "redis://"+strings.Join(c.Addrs(), ","), c.SetClock, scenarios)
	})
}

// TestLinearizableOverRedis: so are the replies of two gateways over one redis-server, by functions and by
// scripts.
func TestLinearizableOverRedis(t *testing.T) {
	if err := oracle.Find(); err != nil {
		t.Skip(err)
	}
	for name, args := range map[string][]string{
		"functions": nil,
		"scripts":   {"--rename-command", "FUNCTION", "", "--rename-command", "FCALL", ""},
	} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				t.Parallel()
				nowMs := int64(startNowMs)
				r := oracle.StartFor(t, oracle.Options{NowMs: nowMs, Args: args})
				p := &linRun{t: t, advance: func(ms int64) error { // by one client
					nowMs += ms
					return r.SetClock(nowMs)
				}}
				for range 2 {
					p.callees = append(p.callees, start(t, "--bind", "127.0.0.1",
						"--upstream", "redis+single://"+r.Addr(), "--upstream-timeout", "60000"))
				}
				requireLinearizable(t, p.record(seed))
			})
		}
	}
}

// patient lets redis-server run functions about a million units to their end.
var patient = []string{"--busy-reply-threshold", "0"}

// runOverRedis runs scenarios one after the other: they share the upstream's clock.
func runOverRedis(
	t *testing.T, path rlPath, url string, setClock func(nowMs int64) error, scenarios []rlScenario,
) {
	t.Helper()
	servers := newServers(t)
	for _, scenario := range scenarios {
		if scenario.topic == topTopic || beyondFunctions[scenario.name] != "" || !forwarded(scenario) ||
			strings.HasPrefix(path.name, "MULTI") && scenario.name == withoutLimit {
			continue
		}
		t.Run(scenario.name, func(t *testing.T) {
			gateway := servers.gateway(url, scenario)
			p := &rlRun{
				t: t, srv: gateway, wire: connect(t, gateway), other: connect(t, gateway), setClock: setClock,
			}
			if strings.HasPrefix(path.name, "MULTI") { // otherwise calls move to the upstream's slices
				gateway.Engine().Clock().Freeze()
				p.setClock = func(nowMs int64) error {
					_ = gateway.Engine().Clock().Set(nowMs)
					return setClock(nowMs)
				}
			}
			require.Equal(t, "OK", p.call(p.other, "FLUSHALL"))
			p.run(path, scenario)
		})
	}
}

// notUpstream are commands of which a gateway knows nothing.
var notUpstream = []string{"RL.EXPLAIN", "RL.SIM", "RL.TRACE"}

// forwarded reports whether a scenario has only commands that a gateway knows, and ends soon.
func forwarded(scenario rlScenario) bool {
	for _, s := range scenario.steps {
		for _, name := range notUpstream {
			if strings.HasPrefix(s.line, name) {
				return false
			}
		}
	}
	return scenario.name != "the largest COST" // a redis-server takes seconds to add a million members
}

// hasOneKey reports whether a scenario has one key, so that it has one slot: holds are in that of their key.
func hasOneKey(scenario rlScenario) bool {
	keys := map[string]bool{}
	for _, s := range scenario.steps {
		for _, key := range s.keys() {
			keys[key] = true
		}
	}
	return len(keys) == 1
}

// holdTag matches the hash tag in the name of a hold whose key has none.
var holdTag = regexp.MustCompile(`:hold:\{[^}]*\}:`)

// tagged returns a scenario with a hash tag in front of each key, so that all are in one slot.
func tagged(scenario rlScenario) rlScenario {
	const tag = "{tag}"
	steps := slices.Clone(scenario.steps)
	for i := range steps {
		s := &steps[i]
		s.line = holdTag.ReplaceAllString(s.line, ":hold:")
		s.want = holdTag.ReplaceAllString(s.want, ":hold:")
		words := strings.Split(s.line, " ")
		keys := s.keys()
		switch words[0] {
		case "EXISTS", "DEL", "RENAME":
			keys = words[1:]
		case "OBJECT":
			keys = words[2:]
		}
		for _, key := range slices.Clone(keys) {
			words[slices.Index(words[1:], key)+1] = tag + key
			s.want = strings.ReplaceAll(s.want, "'"+key+"'", "'"+tag+key+"'")
		}
		s.line = strings.Join(words, " ")
	}
	scenario.steps = steps
	return scenario
}
