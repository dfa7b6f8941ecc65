package server_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/server"
)

// throughGateways are the transcripts that are about keys, scripts and transactions. The others are about
// a server itself.
var throughGateways = strings.Fields("bitfield bitmap copy counter dump eval evalerrors expire " +
	"expired " +
	"floats function functionload hash key lcs list lua multipop reply script scriptdb sequence set sets " +
	"sort string transaction traps wire zadd zlarge zrange zread zstore")

// TestTranscriptsThroughGateway replays Redis' recorded replies against a gateway whose upstream is a
// server with the keys. The sections of a file share both, one after the other: most of what a section costs
// would be to start them.
func TestTranscriptsThroughGateway(t *testing.T) {
	race.OneGoroutine(t)
	for _, base := range throughGateways {
		file := filepath.Join(transcriptDir, base+".cases")
		for _, protocol := range []int{2, 3} {
			recording := fmt.Sprintf("%s.resp%d", base, protocol)
			t.Run(recording, func(t *testing.T) {
				t.Parallel()
				cases := readTranscript(t, file).Under(protocol)
				recorded := readTranscript(t, filepath.Join(transcriptDir, recording))
				gateways := map[string]*transcriptGateway{} // by their directives
				for i, want := range recorded.Sections {
					s := cases.Sections[i]
					if waits(s) || configures(s) {
						continue
					}
					id := strings.Join(s.Directives, " ")
					if gateways[id] == nil {
						gateways[id] = startTranscriptGateway(t, s.Directives...)
					}
					g := gateways[id]
					t.Run(want.Title, func(t *testing.T) {
						setClock := func(nowMs int64) { g.setClock(t, nowMs) }
						setClock(startNowMs)
						g.empty(t)
						dial := func() net.Conn { return connect(t, g.front).conn }
						got := runSection(s, protocol, dial, setClock)
						for _, difference := range scenario.Differences(want, got) {
							t.Error(difference)
						}
					})
				}
			})
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

// A transcriptGateway is a gateway and its upstream, whose clocks stand.
type transcriptGateway struct {
	front  *server.Server
	clocks []*clock.Clock
}

func startTranscriptGateway(t *testing.T, directives ...string) *transcriptGateway {
	t.Helper()
	up := start(t, append([]string{"--bind", "127.0.0.1"}, directives...)...)
	front := startGateway(t, up, directives...)
	g := &transcriptGateway{front, []*clock.Clock{up.Engine().Clock(), front.Engine().Clock()}}
	for _, c := range g.clocks {
		c.Freeze()
	}
	return g
}

func (g *transcriptGateway) setClock(t *testing.T, nowMs int64) {
	for _, c := range g.clocks {
		require.NoError(t, c.Set(nowMs))
	}
}

// empty makes both hold nothing.
func (g *transcriptGateway) empty(t *testing.T) {
	require.Equal(t, []string{"+OK", "+OK", "+OK"},
		connect(t, g.front).calls(t, "FLUSHALL SYNC", "FUNCTION FLUSH SYNC", "SCRIPT FLUSH SYNC"))
}
