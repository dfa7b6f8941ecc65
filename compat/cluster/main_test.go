package cluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
	"github.com/zlimit/zlimit/lab/abuse"
	"github.com/zlimit/zlimit/oracle"
)

// zlimit is the path of zlimit-server; TestMain fills it in.
var zlimit string

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	logging.Disable() // go-redis' own log: a line for each connection that is refused
	if err := oracle.FindRealTime(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if zlimit, err = abuse.BuildServer(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// patient lets gateways wait for nodes on a busy machine: longer than they ever need, and less than callers
// wait.
const patient = "upstream-timeout 8000"

// A rig is a cluster with two gateways.
type rig struct {
	*nodes.Cluster
	gateways []*nodes.Process
}

// startRig starts a cluster with two gateways, which end with the test.
func startRig(t *testing.T, o nodes.Options, directives ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	c, err := nodes.Start(t.Context(), dir, o)
	require.NoError(t, err)
	r := &rig{Cluster: c}
	t.Cleanup(func() {
		for _, p := range r.gateways {
			p.Kill()
		}
		c.Close()
		if !t.Failed() {
			return
		}
		for _, p := range r.gateways {
			t.Logf("%s on port %d logged:\n%s", p.Name, p.Port, p.Log(25))
		}
		for _, n := range c.Nodes {
			t.Logf("%s on port %d logged:\n%s", n.Name, n.Port, n.Log(12))
		}
	})
	r.gateways, err = nodes.StartGateways(t.Context(), 2, zlimit, dir, c.URL(), directives...)
	require.NoError(t, err)
	return r
}

// addrs returns the addresses of the gateways.
func (r *rig) addrs() []string {
	var found []string
	for _, p := range r.gateways {
		found = append(found, nodes.Addr(p.Port))
	}
	return found
}
