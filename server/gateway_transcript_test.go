package server_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
)

// throughGateways are the transcripts that are about keys, scripts and transactions. The others are about
// a server itself.
var throughGateways = strings.Fields("bitfield bitmap copy counter dump eval evalerrors expire " +
	"expired " +
	"floats function functionload hash key lcs list lua multipop reply script scriptdb sequence set sets " +
	"sort string transaction traps wire zadd zlarge zrange zread zstore")

// TestTranscriptsThroughGateway replays Redis' recorded replies against a gateway whose upstream is a
// server with the keys.
func TestTranscriptsThroughGateway(t *testing.T) {
	race.OneGoroutine(t)
	for _, base := range throughGateways {
		file := filepath.Join(transcriptDir, base+".cases")
		for _, protocol := range []int{2, 3} {
			cases := readTranscript(t, file).Under(protocol)
			recorded := readTranscript(t, fmt.Sprintf("%s.resp%d", strings.TrimSuffix(file, ".cases"),
				protocol))
			for i, want := range recorded.Sections {
				name := base + "/" + want.Title
				if waits(cases.Sections[i]) || configures(cases.Sections[i]) {
					continue
				}
				t.Run(fmt.Sprintf("%s.resp%d", name, protocol), func(t *testing.T) {
					t.Parallel()
					dial, setClock := startTranscriptGateway(t, cases.Sections[i].Directives...)
					got := runSection(cases.Sections[i], protocol, dial, setClock)
					for _, difference := range scenario.Differences(want, got) {
						t.Error(difference)
					}
				})
			}
		}
	}
}

// waits reports whether clients of a section wait for others. A client that waits at a gateway may not wait
// upstream yet: the order between clients is not kept.
func waits(s scenario.Section) bool {
	return slices.ContainsFunc(s.Steps, func(st scenario.Step) bool { return st.Action == scenario.Blocked })
}

// configures reports whether a section sets directives, which a gateway sets for itself only.
func configures(s scenario.Section) bool {
	return slices.ContainsFunc(s.Steps, func(st scenario.Step) bool {
		return strings.Contains(strings.ToUpper(st.Line), "CONFIG SET")
	})
}

// startTranscriptGateway is startForTest for a gateway and its upstream.
func startTranscriptGateway(t *testing.T, directives ...string) (dial func() net.Conn,
	set func(nowMs int64),
) {
	t.Helper()
	srv := start(t, append([]string{"--bind", "127.0.0.1"}, directives...)...)
	dial, setGateway := startForTest(t,
		append([]string{"--upstream", "redis://" + srv.Addr().String(), "--upstream-timeout", "60000"},
			directives...)...)
	clock := srv.Engine().Clock()
	clock.Freeze()
	require.NoError(t, clock.Set(startNowMs))
	return dial, func(nowMs int64) {
		setGateway(nowMs)
		require.NoError(t, clock.Set(nowMs))
	}
}
