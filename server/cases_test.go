package server_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/server"
)

// TestCases runs testdata/cases, in the format of package scenario, over sockets of a server. Directives of
// the test's own:
//
//	@gateway --name value   the server is the upstream of a gateway with the directives; connections go to
//	                        the gateway, except for those whose names begin with "up"
func TestCases(t *testing.T) {
	files, err := scenario.Glob("testdata/cases/*.cases", "gateway")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				t.Parallel()
				for _, fault := range newCasePlayer(t, s).Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// newCasePlayer starts the servers of a section. Their clocks stand still.
func newCasePlayer(t *testing.T, s scenario.Section) *scenario.Runner {
	up := start(t, append([]string{"--bind", "127.0.0.1"}, s.Directives...)...)
	servers := []*server.Server{up}
	isGateway := func(step scenario.Step) bool { return strings.HasPrefix(step.Line, "@gateway") }
	if i := slices.IndexFunc(s.Steps, isGateway); i >= 0 {
		words, err := scenario.Words("gateway " + s.Steps[i].Text)
		require.NoError(t, err)
		var directives []string
		for _, word := range words[1:] {
			directives = append(directives, string(word))
		}
		servers = append(servers, startGateway(t, up, directives...))
	}
	front := servers[len(servers)-1]
	r := &scenario.Runner{Protocol: s.Protocol}
	for _, srv := range servers {
		srv.Engine().Clock().Freeze()
	}
	r.SetClock = func(nowMs int64) (err error) {
		for _, srv := range servers {
			err = errors.Join(err, srv.Engine().Clock().Set(nowMs))
		}
		return err
	}
	require.NoError(t, r.SetClock(scenario.StartMs))
	r.Dial = func(name string) (scenario.Client, error) {
		to := front
		if name == "" || strings.HasPrefix(name, "up") { // what is blocked is so upstream
			to = up
		}
		c, err := net.Dial("tcp", to.Addr().String())
		return wireClient{newWire(c)}, err
	}
	r.Own = map[string]func(string) ([]byte, error){
		"gateway": func(string) ([]byte, error) { return nil, nil },
	}
	return r
}
